// The page of a run in progress: its phase, its speed, and charts of what it has sampled so far.

import type { Value } from "./api";
import { Chart, element, type Group, type Line, type Picture, type Spec } from "./chart";
import { BURSTS } from "./charts";
import { ms, withBase } from "./pictures";
import { queueLine } from "./queues";
import { digits, line, rate } from "./style";
import { swatch } from "./swatch";

interface Flow {
  name: string;
  base_rtt_s: Value;
  cwnd_segments: Value[];
  rtt_ms: Value[];
  goodput_bps: Value[];
}

interface State {
  phase: string;
  simulated_s: number;
  duration_s: number;
  speed: Value;
  left_s: Value;
  problem: string;
  time_s: number[];
  flows: Flow[];
  queues: { name: string; backlog_packets: Value[] }[];
}

const PHASES: Record<string, string> = {
  boot: "booting",
  setup: "building the topology",
  probes: "checking the topology",
  traffic: "running traffic",
  done: "collecting",
  storing: "judging and storing",
};

const whole = (value: number) => digits(value, 4);
const SPECS: Record<string, Spec> = {
  cwnd: { title: "Congestion window", unit: "segments", fromZero: true, write: whole },
  rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: whole },
  goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, ""), hint: BURSTS },
  queue: { title: "Queue backlog, largest", unit: "packets", fromZero: true, write: whole },
};

/** Values in legends and for screen readers, with their unit. */
const WRITERS: Record<string, Line["write"]> = { rtt: ms, goodput: rate };

export function startRunning(section: HTMLElement): void {
  const duration = Number(section.dataset.duration);
  const bar = section.querySelector("progress");
  let span: [number, number] = [0, duration];
  let charts: Record<string, Chart> | undefined;
  let boxes: HTMLInputElement[] | undefined;
  let last: State | undefined;
  const go = (from: number, to: number) => {
    span = [Math.max(0, from), Math.min(duration, to)];
    Object.values(charts ?? {}).forEach((chart) => chart.reach(...span));
  };
  const group: Group = {
    key: "running",
    warmup: Number(section.dataset.warmup),
    span: () => span,
    zoom: go,
    back: () => go(0, duration),
    whole: () => go(0, duration),
    point: (time) => Object.values(charts ?? {}).forEach((chart) => chart.point(time)),
  };
  const say = (name: string, text: string) => {
    const place = section.querySelector(`[data-show=${name}]`);
    if (place && place.textContent !== text) place.textContent = text;
  };

  /** Make a tick box for each flow; the first ones are ticked. */
  function choice(flows: Flow[]): HTMLInputElement[] {
    const made = flows.map(({ name }, index) => element("input", {
      type: "checkbox", name: "flow", value: name, checked: index < Number(section.dataset.most),
      onchange: () => last && draw(last),
    }));
    const labels = made.map((box, index) =>
      element("label", { className: "draw" }, box, swatch({ ...line(index), width: 1.5 }), box.value));
    if (flows.length) section.append(element("fieldset", { className: "flows" }, element("legend", { textContent: "Flows drawn" }), ...labels));
    return made;
  }

  function draw(state: State): void {
    last = state;
    say("phase", PHASES[state.phase] ?? state.phase);
    say("progress", progress(state));
    if (bar) bar.value = state.simulated_s;
    if (state.time_s.length < 2) return;
    boxes ??= choice(state.flows);
    charts ??= Object.fromEntries(Object.entries(SPECS).map(([id, spec]) =>
      [id, new Chart(section, `live-${id}`, spec, group)]));
    for (const [id, chart] of Object.entries(charts)) chart.show(picture(id, state, boxes));
    section.dataset.drawn = String(Number(section.dataset.drawn ?? 0) + 1);
  }

  const source = new EventSource(section.dataset.stream ?? "");
  source.addEventListener("state", (event) => draw(JSON.parse(event.data) as State));
  source.addEventListener("end", () => source.close());
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) say("progress", "No live view: the server refused it.");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    Object.values(charts ?? {}).forEach((chart) => chart.restyle());
    if (last) draw(last);
  });
}

function progress(state: State): string {
  if (state.problem) return `${digits(state.simulated_s, 3)} s simulated. No live samples: ${state.problem}`;
  const words = [`${digits(state.simulated_s, 3)} of ${digits(state.duration_s)} s simulated`];
  if (state.speed) words.push(`${digits(state.speed, 3)} simulated seconds per second`);
  if (state.left_s !== null && state.phase === "traffic") words.push(`${Math.ceil(state.left_s)} s left`);
  return words.join(", ");
}

function picture(id: string, { time_s, flows, queues }: State, boxes: HTMLInputElement[]): Picture {
  if (id === "queue") {
    return {
      x: time_s,
      columns: queues.map((queue) => queue.backlog_packets),
      lines: queues.map((queue, index) => ({ ...queueLine(index), label: queue.name, write: whole })),
      note: "",
    };
  }
  const places = new Map(flows.map(({ name }, index) => [name, index]));
  const look = (name: string) => ({ ...line(places.get(name) ?? 0), width: 1.5 });
  const drawn = flows.filter((_, index) => boxes[index]?.checked);
  const values = (flow: Flow) =>
    id === "cwnd" ? flow.cwnd_segments : id === "rtt" ? flow.rtt_ms : flow.goodput_bps;
  const curves: Picture = {
    x: time_s,
    columns: drawn.map(values),
    lines: drawn.map(({ name }) => ({ ...look(name), label: name, write: WRITERS[id] ?? whole })),
    note: "",
  };
  if (id !== "rtt") return curves;
  return withBase(curves, drawn.map(({ name, base_rtt_s }) => ({ name, baseRttS: base_rtt_s ?? undefined })), look);
}
