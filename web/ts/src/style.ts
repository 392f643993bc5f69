// Colours come from the style sheet, which alone decides between light and dark.

const COLOURS = 8;
// As .d0 to .d7 of style.css.
const DASHES = [[], [9, 3], [4, 2], [9, 3, 2, 3], [2, 2], [12, 2], [6, 2], [12, 2, 2, 2, 2, 2]];

/** Return the value of a custom property such as `--grid`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Return the line style of a flow by its index, equal in all charts and in the table of flows.
 * Lines have dashes where the colours repeat.
 */
export function line(index: number): { stroke: string; dash: number[] } {
  const dash = DASHES[Math.floor(index / COLOURS) % DASHES.length] ?? [];
  return { stroke: colour(`--c${index % COLOURS}`), dash };
}

const PREFIXES: [number, string][] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/** Format a number with that many significant digits and without an exponent. */
export function digits(value: number, count = 4): string {
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(places, 12))));
}

/** Format a rate, such as `9.57 Mbit/s`. */
export function rate(value: number, unit = "bit/s", count = 4): string {
  const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${digits(value / factor, count)} ${prefix}${unit}`.trim();
}

/** Format a number of bytes, such as `1.25 MB`. */
export const amount = (bytes: number) => rate(bytes, "B");

/** Format a count. */
export const whole = (value: number) => (Number.isInteger(value) ? String(value) : digits(value));
