// The part of the time that a page's charts show: its buttons, its address, and what was shown before.

import { keep, kept } from "./address";
import type { Chart, Group } from "./chart";
import { digits } from "./style";

type Span = [number, number];

const LEAST_SPAN_S = 1e-4;
const QUIET_MS = 80;

export class Timeline {
  readonly group: Group;
  private readonly start: number; // 0, or where a trace begins
  private readonly duration: number;
  private readonly buttons: HTMLButtonElement[];
  private readonly range = document.getElementById("range") as HTMLOutputElement;
  private past: Span[] = [];
  private shown: Span;
  private timer = 0;

  /** `charts` are those to move, and `load` is called when samples of another part are needed. */
  constructor(section: HTMLElement, key: string, private readonly charts: () => Chart[], private readonly load: () => void) {
    this.start = Number(section.dataset.start ?? 0);
    this.duration = Number(section.dataset.duration);
    this.shown = this.fromHash();
    this.group = {
      key,
      warmup: Number(section.dataset.warmup),
      marks: JSON.parse(section.dataset.events ?? "[]") as number[],
      span: () => this.shown,
      zoom: (from, to) => {
        this.past.push(this.shown);
        this.go([Math.max(this.start, from), Math.min(this.duration, to)]);
      },
      back: () => this.go(this.past.pop() ?? [this.start, this.duration]),
      whole: () => {
        this.past = [];
        this.go([this.start, this.duration]);
      },
      point: (time) => this.charts().forEach((chart) => chart.point(time)),
    };
    this.buttons = [...section.querySelectorAll<HTMLButtonElement>("button[data-go]")];
    this.buttons.forEach((button) => button.addEventListener("click", () => this.press(button.dataset.go)));
    window.addEventListener("hashchange", () => this.go(this.fromHash()));
    this.say();
  }

  /** The shown part in seconds. */
  get span(): Span {
    return this.shown;
  }

  /** Load samples when nothing has changed for a moment. */
  later(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.load, QUIET_MS);
  }

  private press(action: string | undefined): void {
    const [from, to] = this.shown;
    const part = to - from;
    const by = (start: number, length: number) => {
      const kept = Math.min(Math.max(start, this.start), Math.max(this.duration - length, this.start));
      this.group.zoom(kept, kept + length);
    };
    if (action === "in") by(from + part / 4, part / 2);
    else if (action === "out") by(from - part / 2, part * 2);
    else if (action === "earlier") by(from - part / 2, part);
    else if (action === "later") by(from + part / 2, part);
    else this.group.whole();
  }

  private go([from, to]: Span): void {
    if (to - from < LEAST_SPAN_S) return;
    this.shown = [from, to];
    this.charts().forEach((chart) => chart.reach(from, to));
    this.say();
    this.later();
  }

  private say(): void {
    const [from, to] = this.shown;
    const part = from > this.start || to < this.duration;
    this.buttons.forEach((button) => (button.disabled = button.dataset.go !== "in" && !part));
    this.range.textContent = part ? `${from.toFixed(3)}–${to.toFixed(3)} s` : `${digits(this.start)}–${digits(this.duration)} s`;
    keep({ t: part ? [`${from.toFixed(4)}..${to.toFixed(4)}`] : undefined });
  }

  /** Return the part of the time in the address, such as `#t=12.5..20`, or the whole time. */
  private fromHash(): Span {
    const found = /^([\d.]+)\.\.([\d.]+)$/.exec(kept("t")?.[0] ?? "");
    const [from, to] = [Number(found?.[1]), Number(found?.[2])];
    return from >= this.start && to <= this.duration && to - from >= LEAST_SPAN_S ? [from, to] : [this.start, this.duration];
  }
}
