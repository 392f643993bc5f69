// The chart of transfers: the share that was complete after each time.

import type { Answers } from "./api";
import { Chart, type Group } from "./chart";
import { join, type Look } from "./series";
import { digits } from "./style";

const LEAST_S = 1e-9; // a logarithmic axis has no 0
const share = (value: number) => digits(value, 3);
const seconds = (value: number) => `${digits(value, 3)} s`;

/** The chart has an axis of its own, of completion times. */
export class TransferChart {
  readonly chart: Chart;
  private whole: [number, number] = [LEAST_S, 1];
  private span = this.whole;

  constructor(section: HTMLElement) {
    const go = (span: [number, number]) => {
      this.span = [Math.max(span[0], this.whole[0]), Math.min(span[1], this.whole[1])];
      this.chart.reach(...this.span);
    };
    const group: Group = {
      key: "transfers", warmup: 0, span: () => this.span,
      zoom: (from, to) => go([from, to]), back: () => go(this.whole), whole: () => go(this.whole),
      point: (time) => this.chart.point(time),
    };
    const spec = {
      title: "Completion times of transfers", unit: "share of those complete", fromZero: true, write: share,
      x: { label: "completion time", write: seconds, stepped: true },
    };
    this.chart = new Chart(section, "transfers", spec, group);
  }

  draw({ flows }: Answers["transfers"], look: Look): void {
    const filled = flows.filter(({ fct_s }) => fct_s.length);
    const ends = filled.flatMap(({ fct_s }) => [fct_s[0] ?? LEAST_S, fct_s.at(-1) ?? 1]);
    if (ends.length) {
      const [least, most] = [Math.max(Math.min(...ends), LEAST_S), Math.max(...ends, LEAST_S)];
      this.span = this.whole = [least / 1.05, most * 1.05];
    }
    const open = flows.reduce((sum, flow) => sum + flow.transfers - flow.completed, 0);
    const note = "of transfers begun in the shown time" + (open ? `; ${open} did not complete` : "");
    this.chart.show(join(filled.map((flow) => ({
      time_s: flow.fct_s,
      columns: [{ line: { ...look(flow.name), label: flow.name, write: share }, values: flow.share }],
    })), note));
  }
}
