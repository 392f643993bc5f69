// What the address keeps of the charts behind `#`: the part of the time, and what is ticked. A link
// then shows the same page, and the server need not know.

const KEYS = ["t", "run", "flow", "link", "kind", "ssthresh", "unit"] as const;

type Key = (typeof KEYS)[number];

const read = () => new URLSearchParams(location.hash.slice(1));

/** Return the values that the address keeps under a key, undefined if it has none. */
export function kept(key: Key): string[] | undefined {
  const values = read().getAll(key);
  return values.length ? values : undefined;
}

/** Keep these values; undefined means what a page shows without any. A link to a part of the page stays till then. */
export function keep(values: Partial<Record<Key, string[] | undefined>>): void {
  const before = read();
  const after = new URLSearchParams();
  for (const key of KEYS) {
    for (const value of (key in values ? values[key] : before.getAll(key)) ?? []) after.append(key, value);
  }
  const [whole, text] = [location.pathname + location.search, String(after)];
  if (!text && !KEYS.some((key) => before.has(key))) return;
  history.replaceState(null, "", text ? `${whole}#${text}` : whole);
}

/** Tick the boxes that the address names under a key, of those that `nameOf` names; else as usual. */
export function tick(key: Key, boxes: HTMLInputElement[], nameOf: (box: HTMLInputElement) => string): void {
  const names = kept(key);
  for (const box of boxes) box.checked = names ? names.includes(nameOf(box)) : box.defaultChecked;
}

/** Return the names of the ticked boxes, undefined if those are ticked that are so without an address. */
export function ticked(boxes: HTMLInputElement[], nameOf: (box: HTMLInputElement) => string): string[] | undefined {
  if (boxes.every((box) => box.checked === box.defaultChecked)) return undefined;
  const names = boxes.filter((box) => box.checked).map(nameOf);
  return names.length ? names : [""];
}
