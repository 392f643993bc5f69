// Colours come from the style sheet, so that light and dark are decided in one place.

const COLOURS = 8;
const DASHES = [[], [9, 3], [4, 2], [9, 3, 2, 3], [2, 2]]; // as .d0 to .d4 of style.css

/** Return the value of a custom property such as `--grid`. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Return the line of a flow by its index: the same in every chart and in the flows' table. */
export function line(index: number): { stroke: string; dash: number[] } {
  return { stroke: colour(`--c${index % COLOURS}`), dash: DASHES[index % DASHES.length] ?? [] };
}

const PREFIXES: [number, string][] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/** Write a number with so many significant digits, without an exponent. */
export function digits(value: number, count = 4): string {
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(places, 12))));
}

/** Write a rate such as `9.57 Mbit/s`. */
export function rate(value: number, unit = "bit/s"): string {
  const [factor, prefix] = PREFIXES.find(([least]) => Math.abs(value) >= least) ?? [1, ""];
  return `${digits(value / factor)} ${prefix}${unit}`.trim();
}
