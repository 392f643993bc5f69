// The charts of a run: what each one draws, and the part of the time that all of them show.

import { AlgorithmCharts } from "./algorithm";
import { type Answers, fetchJson } from "./api";
import { Chart, element, type Spec } from "./chart";
import { startMoments } from "./moments";
import { delays, type Flow, goodputs, losses, roundTrips, windows } from "./pictures";
import { backlogs, drawQueue, type Unit, UNITS } from "./queues";
import type { Look } from "./series";
import { startStories } from "./stories";
import { digits, line, rate, whole } from "./style";
import { Timeline } from "./timeline";
import { TransferChart } from "./transfers";

const PIXELS_PER_BIN = 3;
const SAMPLES_PER_BIN = 3; // with fewer samples the server gives all of them
export const GOODPUT_BINS = "300";

const ms = (value: number) => digits(value, 4);

/** Why goodput may be above the rate of a link. */
export const BURSTS = "Bytes count when they can be read in order. After a loss none do until the gap is filled; "
  + "then all that came meanwhile count at once, as a burst.";

export const SPECS: Record<"cwnd" | "rtt" | "goodput" | "queue" | "delay" | "loss", Spec> = {
  cwnd: { title: "Congestion window and ssthresh", unit: "segments", fromZero: true, write: whole },
  rtt: { title: "Smoothed RTT", unit: "ms", fromZero: false, write: ms },
  goodput: { title: "Goodput", unit: "bit/s", fromZero: true, write: (value) => rate(value, ""), hint: BURSTS },
  queue: { title: "Queue backlog and drops", unit: "", fromZero: true, write: whole, draw: drawQueue },
  delay: { title: "One-way delay of UDP", unit: "ms", fromZero: false, write: ms },
  loss: { title: "Loss of UDP", unit: "%", fromZero: true, write: (value) => digits(value, 3) },
};

/** Start the charts, and return what shows queues in theirs. */
export function startCharts(section: HTMLElement): (names: string[]) => void {
  const api = section.dataset.api ?? "";
  const boxes = [...document.querySelectorAll<HTMLInputElement>("#flows input[name=flow]")];
  let answers: Answers | undefined;
  let usual: string[] | undefined; // queues that the server gives unless some are named
  let wanted: string[] = [];
  let running: AbortController | undefined;

  const timeline = new Timeline(section, "run", () => all, () => void load());
  const { group } = timeline;
  const make = (id: keyof typeof SPECS) => new Chart(section, id, SPECS[id], group);
  const some = (name: string) => boxes.filter((box) => box.hasAttribute(name)).map((box) => box.value);
  const known = boxes.map(({ value, dataset }): Flow =>
    ({ name: value, baseRttS: dataset.base === undefined ? undefined : Number(dataset.base) }));
  const [datagrams, transfers] = [some("data-udp"), some("data-transfers")];
  const charts = { cwnd: make("cwnd"), rtt: make("rtt"), goodput: make("goodput"), queue: make("queue") };
  const algorithm = new AlgorithmCharts(section, boxes, group);
  const udp = datagrams.length ? { delay: make("delay"), loss: make("loss") } : undefined;
  const all = [...Object.values(charts), ...Object.values(udp ?? {}), ...algorithm.charts];
  const completion = transfers.length ? new TransferChart(section) : undefined;
  const ssthresh = element("input", { type: "checkbox", checked: true });
  const unit = element("select", {}, ...UNITS.map((name) => element("option", { textContent: name })));
  unit.setAttribute("aria-label", "Unit of the backlog");
  charts.cwnd.tools.append(element("label", { className: "draw" }, ssthresh, "ssthresh (dotted)"));
  charts.queue.tools.append(unit);

  const index = new Map(boxes.map((box) => [box.value, Number(box.dataset.index)]));
  const look: Look = (name) => ({ ...line(index.get(name) ?? 0), width: 1.5 });
  const moments = startMoments(timeline, look, () => all.forEach((chart) => chart.remark()), () => charts.cwnd.focus());

  startStories(look);

  async function load(): Promise<void> {
    void moments();
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    section.setAttribute("aria-busy", "true");
    const detail = detailOf(charts.cwnd);
    const time = { from: String(timeline.span[0]), to: String(timeline.span[1]) };
    const get = <T>(path: string, more: [string, string][]) =>
      fetchJson<T>(`${api}/${path}?${new URLSearchParams([...Object.entries(time), ...more])}`, signal);
    const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
    const named = (names: string[]) => names.map((name): [string, string] => ["flow", name]);
    // Without a flow there is nothing to ask for; the server would give every flow.
    const of = <T>(path: string, chosen: string[], more: [string, string][], none: T): Promise<T> => {
      const names = ticked.filter((name) => chosen.includes(name));
      return names.length ? get<T>(path, [...more, ...named(names)]) : Promise.resolve(none);
    };
    try {
      const [tcp, goodput, queues, packets, completed] = await Promise.all([
        of<Answers["tcp"]>("tcp", ticked, detail, { flows: [] }),
        of<Answers["goodput"]>("goodput", ticked, [["points", GOODPUT_BINS]], { bin_s: 0, flows: [] }),
        get<Answers["queues"]>("queues", [...detail, ...wanted.map((name): [string, string] => ["queue", name])]),
        of<Answers["datagrams"]>("datagrams", datagrams, [["points", GOODPUT_BINS]], { bin_s: 0, flows: [] }),
        of<Answers["transfers"]>("transfers", transfers, [], { flows: [] }),
      ]);
      usual ??= queues.queues.map(({ name }) => name);
      answers = { tcp, goodput, queues, datagrams: packets, transfers: completed };
      draw();
      await algorithm.load((more) => get<Answers["tcp"]>("tcp", [...detail, ...more]));
      algorithm.draw(look);
      section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
    } catch (error) {
      if (!signal.aborted) all.forEach((chart) => chart.say(`Cannot be shown: ${(error as Error).message}`));
    } finally {
      if (!signal.aborted) section.removeAttribute("aria-busy");
    }
  }

  function draw(): void {
    if (!answers) return;
    const { tcp, goodput, queues } = answers;
    completion?.draw(answers.transfers, look);
    udp?.delay.show(delays(answers.datagrams, look));
    udp?.loss.show(losses(answers.datagrams, look));
    charts.cwnd.show(windows(tcp.flows, look, ssthresh.checked));
    charts.rtt.show(roundTrips(tcp.flows, look, known));
    charts.goodput.show(goodputs(goodput, look));
    charts.queue.show(backlogs(queues.queues, unit.value as Unit));
  }

  boxes.forEach((box) => box.addEventListener("change", () => timeline.later()));
  ssthresh.addEventListener("change", draw);
  unit.addEventListener("change", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    [...all, ...(completion ? [completion.chart] : [])].forEach((chart) => chart.restyle());
    draw();
    algorithm.draw(look);
  });
  void load();
  return (names) => {
    const all = [...new Set([...(usual ?? []), ...wanted, ...names])];
    if (all.length > (answers?.queues.queues.length ?? 0)) {
      wanted = all;
      timeline.later();
    }
    charts.queue.focus();
  };
}

/** Return the parameters of the API for as many bins as a chart shows. */
export function detailOf(chart: Chart): [string, string][] {
  const bins = Math.min(Math.max(Math.floor(chart.width / PIXELS_PER_BIN), 10), 2000);
  return [["points", String(bins * SAMPLES_PER_BIN)], ["bins", String(bins)]];
}
