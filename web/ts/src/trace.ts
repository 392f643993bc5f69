// The page of a stored trace: time-sequence plot, queue packet by packet, windows after each ACK.

import { keep, kept } from "./address";
import { type AckStates, fetchJson, type TimeSequence, type TracedQueue } from "./api";
import { Chart, type Spec } from "./chart";
import { startMoments } from "./moments";
import { drawQueuePackets, drawSequence, queuePicture, sequenceLimits, sequencePicture, windowsPicture, write } from "./packets";
import type { Look } from "./series";
import { line, whole } from "./style";
import { Timeline } from "./timeline";

const POINTS_PER_PIXEL = 2;

const SPECS: Record<"sequence" | "queue" | "acks", Spec> = {
  sequence: { title: "Sequence numbers at the sender", unit: "bytes", fromZero: false, write,
    draw: drawSequence, limits: sequenceLimits, height: 320,
    hint: "Vertical lines are segments as they are sent and blocks of SACK as they come, from their first byte to their last." },
  queue: { title: "Queue packet by packet", unit: "packets", fromZero: true, write: whole, draw: drawQueuePackets,
    hint: "Areas are the packets of each flow. A cross is a packet that is dropped or lost, a circle one that is marked." },
  acks: { title: "Congestion window after each ACK", unit: "segments", fromZero: true, write: whole },
};

/** Start the charts of a trace. */
export function startTrace(section: HTMLElement): void {
  const api = section.dataset.api ?? "";
  const names = JSON.parse(section.dataset.flows ?? "[]") as string[];
  const kinds = JSON.parse(section.dataset.kinds ?? "[]") as string[];
  const [flow, link] = ["flow", "link"].map((name) => document.getElementById(name) as HTMLSelectElement | null);
  const look: Look = (name) => ({ ...line(Math.max(names.indexOf(name), 0)), width: 1.5 });
  let running: AbortController | undefined;
  let answers: { sequence?: TimeSequence; queue?: TracedQueue; acks?: { flows: AckStates[] } } = {};

  const timeline = new Timeline(section, "trace", () => all, () => void load());
  const make = (id: keyof typeof SPECS) => new Chart(section, id, SPECS[id], timeline.group);
  const charts = {
    sequence: kinds.includes("acks") && flow ? make("sequence") : undefined,
    queue: kinds.includes("queue") && link ? make("queue") : undefined,
    acks: kinds.includes("acks") ? make("acks") : undefined,
  };
  const all = Object.values(charts).filter((chart) => chart !== undefined);
  const moments = startMoments(timeline, look, () => all.forEach((chart) => chart.remark()));

  async function load(): Promise<void> {
    void moments();
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    section.setAttribute("aria-busy", "true");
    const [from, to] = timeline.span;
    const points = String(Math.min(Math.max((all[0]?.width ?? 500) * POINTS_PER_PIXEL, 100), 4000));
    const part: [string, string][] = [["from", String(from)], ["to", String(to)], ["points", points]];
    const get = async <T>(chart: Chart | undefined, path: string, more: [string, string][]): Promise<T | undefined> => {
      if (!chart) return undefined;
      try {
        return await fetchJson<T>(`${api}/${path}?${new URLSearchParams([...part, ...more])}`, signal);
      } catch (error) {
        if (!signal.aborted) chart.say(`Cannot be shown: ${(error as Error).message}`);
        return undefined;
      }
    };
    const [sequence, queue, acks] = await Promise.all([
      get<TimeSequence>(charts.sequence, "sequence", [["flow", flow?.value ?? ""]]),
      get<TracedQueue>(charts.queue, "queue", [["link", link?.value ?? ""]]),
      get<{ flows: AckStates[] }>(charts.acks, "acks", []),
    ]);
    if (signal.aborted) return;
    answers = { sequence, queue, acks };
    draw();
    section.removeAttribute("aria-busy");
    section.dataset.loads = String(Number(section.dataset.loads ?? 0) + 1);
  }

  function draw(): void {
    const { sequence, queue, acks } = answers;
    if (sequence?.connections === 0) charts.sequence?.say(`The trace has no ACK of ${sequence.flow}.`);
    else if (sequence) charts.sequence?.show(sequencePicture(sequence, timeline.span));
    if (queue) charts.queue?.show(queuePicture(queue, look, timeline.span));
    if (acks) charts.acks?.show(windowsPicture(acks.flows, look, timeline.span));
  }

  /** Choose what the address says. */
  function restore(): void {
    for (const [key, select] of [["flow", flow], ["link", link]] as const) {
      const value = kept(key)?.[0];
      if (select && value !== undefined && [...select.options].some((one) => one.value === value)) select.value = value;
    }
  }

  for (const [key, select] of [["flow", flow], ["link", link]] as const) {
    select?.addEventListener("change", () => {
      keep({ [key]: [select.value] });
      void load();
    });
  }
  window.addEventListener("hashchange", () => {
    restore();
    timeline.later();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    all.forEach((chart) => chart.restyle());
    draw();
  });
  restore();
  void load();
}
