// What happened to flows by stored traces: a list to filter, and marks on all charts.

import { keep, kept } from "./address";
import { fetchJson, type Moment, type Moments } from "./api";
import { element } from "./chart";
import type { Look } from "./series";
import { swatch } from "./swatch";
import type { Timeline } from "./timeline";

/** A stored trace that shows packets, with the address of its page. */
interface Closer {
  number: number;
  from_s: number;
  to_s: number;
  url: string;
}

const LISTED = 200; // more rows make the page slow
const AROUND_S = 0.1;

/**
 * Start the list of the page, if it has one; return what loads what the charts' part of the time has.
 * `goThere` goes to the charts, where they are not beside the list.
 */
export function startMoments(timeline: Timeline, look: Look, redraw: () => void, goThere?: () => void): () => Promise<void> {
  const place = document.getElementById("moments");
  const form = place?.querySelector("form");
  if (!place || !form) return async () => {};
  const closer = JSON.parse(place.dataset.traces ?? "[]") as Closer[];
  const [count, rows, said] = ["count", "rows", "said"].map((name) => place.querySelector(`[data-${name}]`) as HTMLElement);
  const choices = { kind: form.elements.namedItem("kind") as HTMLSelectElement, flow: form.elements.namedItem("flow") as HTMLSelectElement };
  const wanted = { kind: kept("kind")?.[0] ?? "", flow: "" };
  const { group } = timeline;
  let answer: Moments | undefined;
  let chosen: Moment | undefined;
  let running: AbortController | undefined;

  async function load(): Promise<void> {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    const [from, to] = timeline.span;
    const filters = Object.entries(wanted).filter(([, value]) => value);
    const trace: [string, string][] = place?.dataset.trace ? [["trace", place.dataset.trace]] : [];
    try {
      answer = await fetchJson<Moments>(`${place?.dataset.api}?${new URLSearchParams(
        [["from", String(from)], ["to", String(to)], ...filters, ...trace])}`, signal);
      show();
    } catch (error) {
      if (!signal.aborted && count) count.textContent = `cannot be shown: ${(error as Error).message}`;
    }
  }

  function show(): void {
    if (!answer || !rows || !count) return;
    const { found, moments } = answer;
    options(choices.kind, answer.kinds, wanted.kind);
    options(choices.flow, answer.flows, wanted.flow);
    const listed = Math.min(moments.length, LISTED);
    count.textContent = `${found} in sight${found > moments.length ? `, the first ${moments.length} marked` : ""}`
      + `${found > listed ? `, the first ${listed} listed` : ""}`;
    const focused = rows.contains(document.activeElement);
    rows.replaceChildren(...moments.slice(0, LISTED).map(row));
    // The button that was pressed is a new one now. Who uses the keyboard goes on from there.
    if (focused) rows.children[moments.findIndex(isChosen)]?.querySelector("button")?.focus({ preventScroll: true });
    mark();
  }

  function row(moment: Moment): HTMLTableRowElement {
    const button = element("button", { type: "button", textContent: `${moment.time_s.toFixed(6)} s` });
    button.addEventListener("click", () => choose(moment));
    const name = element("td", {}, swatch(look(moment.flow)), ` ${moment.flow}`);
    return element("tr", {}, element("th", { scope: "row" }, button), name,
      element("td", { textContent: moment.kind }), element("td", { className: "wrap", textContent: moment.text }));
  }

  const isChosen = (one: Moment) => one.time_s === chosen?.time_s && one.flow === chosen.flow && one.kind === chosen.kind;

  /** Show the charts around a moment, its sentence, and how to look closer. */
  function choose(moment: Moment): void {
    chosen = moment;
    const end = moment.until_s ?? moment.time_s;
    const around = Math.max(AROUND_S, (end - moment.time_s) / 2);
    const [from, to] = [Math.max(0, moment.time_s - around), end + around];
    said?.replaceChildren(element("p", { textContent: `At ${moment.time_s.toFixed(6)} s ${moment.text}.` }), ...wayThere(), ...lookCloser(moment, from, to));
    group.zoom(from, to);
    mark();
  }

  function wayThere(): Node[] {
    if (!goThere) return [];
    const button = element("button", { type: "button", textContent: "Show in the charts" });
    button.addEventListener("click", goThere);
    return [element("p", {}, button)];
  }

  function lookCloser(moment: Moment, from: number, to: number): Node[] {
    if (place?.dataset.trace) return [];
    const one = closer.find(({ from_s, to_s }) => from_s <= moment.time_s && moment.time_s < to_s);
    if (one) {
      const hash = new URLSearchParams({ t: `${Math.max(from, one.from_s).toFixed(4)}..${Math.min(to, one.to_s).toFixed(4)}`, flow: moment.flow });
      return [element("p", {}, element("a", { href: `${one.url}#${hash}`, textContent: `Look closer in trace ${one.number}` }))];
    }
    const window = `${from.toFixed(3)}s..${Math.min(to, Number(place?.dataset.end)).toFixed(3)}s`;
    return [element("p", { className: "dim", textContent: "No stored trace has its packets. This command makes one:" }),
      element("pre", { className: "command", textContent: `${place?.dataset.zoom} --window ${window}` })];
  }

  function mark(): void {
    group.moments = answer?.moments.map((one) => ({
      from: one.time_s, to: one.until_s ?? one.time_s, stroke: look(one.flow).stroke,
      chosen: isChosen(one),
    }));
    redraw();
  }

  for (const name of ["kind", "flow"] as const) {
    choices[name].addEventListener("change", () => {
      wanted[name] = choices[name].value;
      if (name === "kind") keep({ kind: wanted.kind ? [wanted.kind] : undefined });
      void load();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  return load;
}

/** Offer what there is with its numbers; the present choice stays, also if there is none of it. */
function options(select: HTMLSelectElement, counts: Record<string, number>, value: string): void {
  const names = Object.keys(counts);
  if (value && !names.includes(value)) names.push(value);
  select.replaceChildren(element("option", { value: "", textContent: "all" }),
    ...names.sort().map((name) => element("option", { value: name, textContent: `${name} (${counts[name] ?? 0})` })));
  select.value = value;
}
