// The charts of a run: what each one draws, and the part of the time that all of them show.

import { AlgorithmCharts } from "./algorithm";
import { type Answers, fetchJson, type QueueSamples, type Samples } from "./api";
import { Chart, element, type Group, type Picture, type Spec } from "./chart";
import { column, join, type Look } from "./series";
import { colour, digits, line, rate } from "./style";

type Span = [number, number];
type Unit = "packets" | "kB" | "ms";

const POINTS_PER_PIXEL = 3;
const LEAST_SPAN_S = 1e-4;
const QUIET_MS = 80;
const QUEUE_COLOUR = 6; // apart from the first flows' colours

const whole = (value: number) => (Number.isInteger(value) ? String(value) : digits(value));
const ms = (value: number) => digits(value, 4);

const SPECS: Record<"cwnd" | "rtt" | "goodput" | "queue", Spec> = {
  cwnd: { title: "Congestion window and ssthresh", unit: "segments", fromZero: true, write: whole },
  rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: ms },
  goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, "") },
  queue: { title: "Queue backlog and drops", unit: "", fromZero: true, write: whole, draw: drawQueue },
};

export function startCharts(section: HTMLElement): void {
  const api = section.dataset.api ?? "";
  const duration = Number(section.dataset.duration);
  const boxes = [...document.querySelectorAll<HTMLInputElement>("#flows input[name=flow]")];
  const range = document.getElementById("range") as HTMLOutputElement;
  const buttons = [...section.querySelectorAll<HTMLButtonElement>("button[data-go]")];
  const past: Span[] = [];
  let span: Span = fromHash(duration);
  let answers: Answers | undefined;
  let running: AbortController | undefined;
  let timer = 0;

  const group: Group = {
    key: "run",
    warmup: Number(section.dataset.warmup),
    marks: JSON.parse(section.dataset.events ?? "[]") as number[],
    span: () => span,
    zoom: (from, to) => {
      past.push(span);
      go([Math.max(0, from), Math.min(duration, to)]);
    },
    back: () => go(past.pop() ?? [0, duration]),
    whole: () => {
      past.length = 0;
      go([0, duration]);
    },
    point: (time) => all.forEach((chart) => chart.point(time)),
  };
  const make = (id: keyof typeof SPECS) => new Chart(section, id, SPECS[id], group);
  const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
  const algorithm = new AlgorithmCharts(section, boxes, group);
  const all = [...Object.values(charts), ...algorithm.charts];
  const ssthresh = element("input", { type: "checkbox", checked: true });
  const unit = element("select", {}, ...["packets", "kB", "ms"].map((name) => element("option", { textContent: name })));
  unit.setAttribute("aria-label", "Unit of the backlog");
  charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
  charts.queue.tools.append(unit);

  function press(action: string | undefined): void {
    const [from, to] = span;
    const part = to - from;
    const by = (start: number, length: number) => {
      const kept = Math.min(Math.max(start, 0), Math.max(duration - length, 0));
      group.zoom(kept, kept + length);
    };
    if (action === "in") by(from + part / 4, part / 2);
    else if (action === "out") by(from - part / 2, part * 2);
    else if (action === "earlier") by(from - part / 2, part);
    else if (action === "later") by(from + part / 2, part);
    else group.whole();
  }

  function go([from, to]: Span): void {
    if (to - from < LEAST_SPAN_S) return;
    span = [from, to];
    all.forEach((chart) => chart.reach(from, to));
    showSpan();
    later();
  }

  function showSpan(): void {
    const [from, to] = span;
    const part = from > 0 || to < duration;
    buttons.forEach((button) => (button.disabled = button.dataset.go !== "in" && !part));
    range.textContent = part ? `${from.toFixed(3)}–${to.toFixed(3)} s` : `0–${digits(duration)} s`;
    history.replaceState(null, "", part ? `#t=${from.toFixed(4)}..${to.toFixed(4)}` : location.pathname);
  }

  function later(): void {
    clearTimeout(timer);
    timer = window.setTimeout(load, QUIET_MS);
  }

  async function load(): Promise<void> {
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    section.setAttribute("aria-busy", "true");
    const points = Math.min(20000, charts.cwnd.width * POINTS_PER_PIXEL);
    const time = { from: String(span[0]), to: String(span[1]) };
    const get = <T>(path: string, more: [string, string][]) =>
      fetchJson<T>(`${api}/${path}?${new URLSearchParams([...Object.entries(time), ...more])}`, signal);
    const flows = boxes.filter((box) => box.checked).map((box): [string, string] => ["flow", box.value]);
    try {
      const [tcp, goodput, queues] = await Promise.all([
        flows.length ? get<Answers["tcp"]>("tcp", [["points", String(points)], ...flows]) : { flows: [] },
        flows.length ? get<Answers["goodput"]>("goodput", [["points", "300"], ...flows]) : { bin_s: 0, flows: [] },
        get<Answers["queues"]>("queues", [["points", String(points)]]),
      ]);
      answers = { tcp, goodput, queues };
      draw();
      await algorithm.load((more) => get<Answers["tcp"]>("tcp", [["points", String(points)], ...more]));
      algorithm.draw(look);
      section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
    } catch (error) {
      if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${(error as Error).message}`));
    } finally {
      if (!signal.aborted) section.removeAttribute("aria-busy");
    }
  }

  const index = new Map(boxes.map((box) => [box.value, Number(box.dataset.index)]));
  const look: Look = (name) => ({ ...line(index.get(name) ?? 0), width: 1.5 });

  function draw(): void {
    if (!answers) return;
    const { tcp, goodput, queues } = answers;
    charts.cwnd.show(windows(tcp.flows, look, ssthresh.checked));
    charts.rtt.show(roundTrips(tcp.flows, look));
    charts.goodput.show(goodputs(goodput, look));
    charts.queue.show(backlogs(queues.queues, unit.value as Unit));
  }

  boxes.forEach((box) => box.addEventListener("change", later));
  ssthresh.addEventListener("change", draw);
  unit.addEventListener("change", draw);
  buttons.forEach((button) => button.addEventListener("click", () => press(button.dataset.go)));
  window.addEventListener("hashchange", () => go(fromHash(duration)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    all.forEach((chart) => chart.restyle());
    draw();
    algorithm.draw(look);
  });
  showSpan();
  void load();
}

/** Return the part of the time in the address, such as `#t=12.5..20`, or the whole time. */
function fromHash(duration: number): Span {
  const found = /^#t=([\d.]+)\.\.([\d.]+)$/.exec(location.hash);
  const [from, to] = [Number(found?.[1]), Number(found?.[2])];
  return from >= 0 && to <= duration && to - from >= LEAST_SPAN_S ? [from, to] : [0, duration];
}

/** Before a loss, and with algorithms that have none, ssthresh is infinite, which is null. */
const hasSsthresh = (flow: Samples) => flow.summary.snd_ssthresh_segments?.max != null;

function windows(flows: Samples[], look: Look, ssthresh: boolean): Picture {
  return join(flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [
      column(flow, "snd_cwnd_segments", { ...look(flow.name), label: `${flow.name} cwnd` }, whole),
      ...(ssthresh && hasSsthresh(flow) ? [column(flow, "snd_ssthresh_segments",
        { ...look(flow.name), label: `${flow.name} ssthresh`, dash: [1.5, 3], width: 1.2 }, whole)] : []),
    ],
  })), "");
}

function roundTrips(flows: Samples[], look: Look): Picture {
  return join(flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [column(flow, "rtt_us", { ...look(flow.name), label: flow.name }, (value) => `${ms(value)} ms`, 1e-3)],
  })), "");
}

function goodputs(answer: Answers["goodput"], look: Look): Picture {
  const estimated = answer.flows.some((flow) => flow.source === "sender");
  const note = `mean over ${digits(answer.bin_s)} s` + (estimated ? "; where no receiver was sampled, acknowledged bytes" : "");
  return join(answer.flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [{
      line: { ...look(flow.name), label: flow.name, write: rate, samples: flow.time_s.length, summary: flow.summary.goodput_bps },
      values: flow.goodput_bps,
    }],
  })), note);
}

/** Return the limit of a queue, 0 if unknown. In ms it depends on the rate. */
function limitOf(queue: QueueSamples, unit: Unit): number {
  if (unit === "packets") return queue.limit_packets ?? 0;
  const bytes = queue.limit_bytes ?? 0;
  if (unit === "kB") return bytes * 1e-3;
  return queue.rate_bps && !queue.rate_steps.length ? (bytes * 8e3) / queue.rate_bps : 0;
}

function backlogs(queues: QueueSamples[], unit: Unit): Picture {
  const used = queues.filter((queue) => queue.direction === "forward" || (queue.summary.backlog_packets?.max ?? 0) > 0);
  const limits: number[] = [];
  const series = used.map((queue, index) => {
    const field = { packets: "backlog_packets", kB: "backlog_bytes", ms: "queue_delay_s" }[unit];
    const factor = { packets: 1, kB: 1e-3, ms: 1e3 }[unit];
    limits.push(limitOf(queue, unit));
    const look = { ...line(QUEUE_COLOUR + index), dash: index ? line(index).dash : [], width: 1.5 };
    const write = unit === "packets" ? whole : (value: number) => `${digits(value)} ${unit}`;
    const counts = (queue.fields.drops ?? []).map((value, at, counter) =>
      at && value !== null ? value - (counter[at - 1] ?? value) : null);
    return {
      time_s: queue.time_s,
      columns: [
        column(queue, field, { ...look, label: queue.name }, write, factor),
        { line: { ...look, label: `${queue.name} drops`, stroke: colour("--drop"), dash: [], bare: true, write: whole }, values: counts },
      ],
    };
  });
  const most = Math.max(...used.map((queue) => queue.summary.backlog_packets?.max ?? 0), 1);
  const limit = Math.max(...limits, 0);
  const near = unit !== "packets" || limit <= 4 * most;
  return join(series, "red ticks above: drops", limit && near ? limit : undefined);
}

/** Draw the limit as a line, and a tick where packets were dropped since the previous point. */
function drawQueue(plot: uPlot, picture: Picture): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  if (picture.reach) {
    const y = Math.round(plot.valToPos(picture.reach, "y", true));
    ctx.strokeStyle = colour("--dim");
    ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ctx.strokeStyle = colour("--drop");
  ctx.beginPath();
  picture.lines.forEach((line, at) => {
    if (!line.bare || !plot.series[at + 1]?.show) return;
    picture.columns[at]?.forEach((count, index) => {
      if (!count) return;
      const x = Math.round(plot.valToPos(picture.x[index] ?? 0, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + 9 * devicePixelRatio);
    });
  });
  ctx.stroke();
  ctx.restore();
}
