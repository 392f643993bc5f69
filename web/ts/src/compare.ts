// The charts of a comparison: curves of several runs over each other. Runs differ in colour, the
// flows of a run in dashes.

import { keep, kept, tick, ticked } from "./address";
import { type Answers, fetchJson, type QueueSamples, type Samples } from "./api";
import { Chart, element, type Picture } from "./chart";
import { detailOf, GOODPUT_BINS, SPECS } from "./charts";
import { type Flow, goodputs, roundTrips, windows } from "./pictures";
import { FIELDS, type Unit, UNITS } from "./queues";
import { column, join, type Look } from "./series";
import { digits, line, whole } from "./style";
import { swatch } from "./swatch";
import { Timeline } from "./timeline";

interface Run {
  label: string;
  api: string;
  flows: Flow[];
}

type Answer = Pick<Answers, "tcp" | "goodput" | "queues">;

const COLOURS = 8;
const DASHES = 8;
const DRAWN_RUNS = 6;
const DRAWN_LINES = 12; // more cannot be followed by the eye

/** Start the charts of a comparison; its data are the runs with their flows. */
export function startComparison(section: HTMLElement): void {
  const runs = JSON.parse(section.dataset.runs ?? "[]") as Run[];
  const names = [...new Set(runs.flatMap(({ flows }) => flows.map(({ name }) => name)))];
  const place = section.querySelector(".choices");
  const shownRuns = Math.min(runs.length, DRAWN_RUNS);
  const shownFlows = Math.max(1, Math.floor(DRAWN_LINES / shownRuns));
  const runBoxes = ticks("Runs", runs.map(({ label }) => label), shownRuns, (at) => look(at, 0));
  const flowBoxes = ticks("Flows", names, shownFlows, (at) => ({ ...look(0, at), stroke: "currentColor" }));
  const numberOf = (box: HTMLInputElement) => String(runBoxes.indexOf(box) + 1);
  let answers: (Answer | undefined)[] = [];
  let running: AbortController | undefined;

  const timeline = new Timeline(section, "compare", () => all, () => void load());
  const make = (id: "cwnd" | "rtt" | "goodput" | "queue") =>
    new Chart(section, id, { ...SPECS[id], ...(id === "queue" ? { title: "Queue backlog", draw: undefined } : {}) }, timeline.group);
  const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
  const all = Object.values(charts);
  const ssthresh = element("input", { type: "checkbox" });
  const unit = element("select", {}, ...UNITS.map((name) => element("option", { textContent: name })));
  unit.setAttribute("aria-label", "Unit of the backlog");
  charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
  charts.queue.tools.append(unit);

  function ticks(title: string, texts: string[], usual: number, of: (at: number) => ReturnType<Look>): HTMLInputElement[] {
    const boxes = texts.map((text, at) => element("input", { type: "checkbox", value: text, defaultChecked: at < usual }));
    const labels = boxes.map((box, at) => element("label", { className: "draw" }, box, swatch(of(at)), box.value));
    if (boxes.length > 1) place?.append(element("fieldset", { className: "flows" }, element("legend", { textContent: title }), ...labels));
    return boxes;
  }

  /** Tick and choose what the address says. Runs are named by their places on the page, from 1. */
  function restore(): void {
    tick("run", runBoxes, numberOf);
    tick("flow", flowBoxes, ({ value }) => value);
    tick("ssthresh", [ssthresh], () => "yes");
    unit.selectedIndex = Math.max(UNITS.findIndex((name) => name === kept("unit")?.[0]), 0);
  }

  function remember(): void {
    keep({
      run: ticked(runBoxes, numberOf),
      flow: ticked(flowBoxes, ({ value }) => value),
      ssthresh: ticked([ssthresh], () => "yes"),
      unit: unit.selectedIndex ? [unit.value] : undefined,
    });
  }

  async function load(): Promise<void> {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    section.setAttribute("aria-busy", "true");
    const detail = detailOf(charts.cwnd);
    const time: [string, string][] = [["from", String(timeline.span[0])], ["to", String(timeline.span[1])]];
    const of = async (run: Run): Promise<Answer> => {
      const get = <T>(path: string, more: [string, string][]) =>
        fetchJson<T>(`${run.api}/${path}?${new URLSearchParams([...time, ...more])}`, signal);
      const there = run.flows.filter(({ name }) => isTicked(flowBoxes, names.indexOf(name)));
      const flows = there.map(({ name }): [string, string] => ["flow", name]);
      const [tcp, goodput, queues] = await Promise.all([
        flows.length ? get<Answers["tcp"]>("tcp", [...detail, ...flows]) : { flows: [] },
        flows.length ? get<Answers["goodput"]>("goodput", [["points", GOODPUT_BINS], ...flows]) : { bin_s: 0, flows: [] },
        get<Answers["queues"]>("queues", detail),
      ]);
      return { tcp, goodput, queues };
    };
    try {
      answers = await Promise.all(runs.map((run, at) => (isTicked(runBoxes, at) ? of(run) : undefined)));
      draw();
      section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
    } catch (error) {
      if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${(error as Error).message}`));
    } finally {
      if (!signal.aborted) section.removeAttribute("aria-busy");
    }
  }

  function draw(): void {
    const looks = new Map<string, ReturnType<Look>>();
    /** Return samples under the name of their run; with one flow in all, its name says no more. */
    const named = <T extends { name: string }>(of: (answer: Answer) => T[]): T[] =>
      answers.flatMap((answer, at) => (answer ? of(answer) : []).map((one) => {
        const name = nameOf(at, one.name);
        looks.set(name, look(at, names.indexOf(one.name)));
        return { ...one, name };
      }));
    const nameOf = (at: number, flow: string) => (names.length > 1 ? `${runs[at]?.label}: ${flow}` : runs[at]?.label ?? "");
    const of: Look = (name) => looks.get(name) ?? look(0, 0);
    const known = runs.flatMap(({ flows }, at) => flows.map((flow): Flow => ({ ...flow, name: nameOf(at, flow.name) })));
    const tcp = named((answer): Samples[] => answer.tcp.flows);
    const rates = named((answer): Answers["goodput"]["flows"] => answer.goodput.flows);
    const widths = answers.flatMap((answer) => (answer?.goodput.flows.length ? [answer.goodput.bin_s] : []));
    charts.cwnd.show(windows(tcp, of, ssthresh.checked));
    charts.rtt.show(roundTrips(tcp, of, known));
    charts.goodput.show(goodputs({ bin_s: Math.max(...widths, 0), flows: rates }, of));
    charts.queue.show(backlogs(answers.map((answer) => answer?.queues.queues ?? []), runs, unit.value as Unit));
  }

  [...runBoxes, ...flowBoxes].forEach((box) => box.addEventListener("change", () => {
    remember();
    timeline.later();
  }));
  [ssthresh, unit].forEach((one) => one.addEventListener("change", () => {
    remember();
    draw();
  }));
  window.addEventListener("hashchange", () => {
    restore();
    timeline.later();
  });
  // Another repetition is drawn as this one is.
  const form = document.querySelector<HTMLFormElement>("form.filter");
  form?.addEventListener("submit", () => (form.action = location.pathname + location.hash));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    all.forEach((chart) => chart.restyle());
    draw();
  });
  restore();
  void load();
}

const isTicked = (boxes: HTMLInputElement[], at: number) => boxes[at]?.checked ?? false;

/** Return how a flow (or queue) of a run looks. Beyond 8 runs colours come again with other dashes. */
function look(run: number, flow: number): ReturnType<Look> {
  const dash = (Math.max(flow, 0) + 2 * Math.floor(run / COLOURS)) % DASHES;
  return { ...line((run % COLOURS) + COLOURS * dash), width: 1.5 };
}

function backlogs(queues: QueueSamples[][], runs: Run[], unit: Unit): Picture {
  const [field, factor] = FIELDS[unit];
  const write = unit === "packets" ? whole : (value: number) => `${digits(value)} ${unit}`;
  const series = queues.flatMap((all, run) => {
    const used = all.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
    return used.map((queue, index) => {
      const label = used.length > 1 ? `${runs[run]?.label}: ${queue.name}` : runs[run]?.label ?? "";
      return {
        time_s: queue.time_s,
        bin_s: queue.bin_s,
        columns: [column(queue, field, { ...look(run, index), label }, write, factor)],
      };
    });
  });
  return join(series, "");
}
