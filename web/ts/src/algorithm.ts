// The values that congestion controls report of themselves: a chart for each name and unit.

import type { Answers, Samples } from "./api";
import { Chart, type Group } from "./chart";
import { column, join, type Look } from "./series";
import { digits } from "./style";

type Field = [name: string, unit: string];
type Get = (more: [string, string][]) => Promise<Answers["tcp"]>;

interface Shown {
  key: string;
  chart: Chart;
}

const keyOf = ([name, unit]: Field) => JSON.stringify([name, unit]);
const write = (value: number) => digits(value, 5);

export class AlgorithmCharts {
  private readonly fields = new Map<string, Field[]>();
  private readonly shown: Shown[] = [];
  private found: Samples[] = [];

  /** Make the charts of the fields that `data-shown` of the flows' boxes declares. */
  constructor(section: HTMLElement, private readonly boxes: HTMLInputElement[], group: Group) {
    const controls = new Map<string, { field: Field; names: Set<string> }>();
    for (const box of boxes) {
      const fields = JSON.parse(box.dataset.shown ?? "[]") as Field[];
      this.fields.set(box.value, fields);
      for (const field of fields) {
        const one = controls.get(keyOf(field)) ?? { field, names: new Set() };
        one.names.add(box.dataset.control ?? "");
        controls.set(keyOf(field), one);
      }
    }
    [...controls].forEach(([key, { field: [name, unit], names }], at) => {
      const spec = { title: `${name} of ${[...names].join(", ")}`, unit, fromZero: false, write };
      this.shown.push({ key, chart: new Chart(section, `algorithm-${at}`, spec, group) });
    });
  }

  get charts(): Chart[] {
    return this.shown.map(({ chart }) => chart);
  }

  /** Get the samples of the ticked flows: one request for all flows with equally many fields. */
  async load(get: Get): Promise<void> {
    const groups = new Map<number, string[]>();
    for (const box of this.boxes.filter(({ checked }) => checked)) {
      const count = this.fields.get(box.value)?.length ?? 0;
      if (count) groups.set(count, [...(groups.get(count) ?? []), box.value]);
    }
    const answers = await Promise.all([...groups].map(([count, names]) => get([
      ["fields", Array.from({ length: count }, (_, slot) => `congestion_${slot}`).join(",")],
      ...names.map((name): [string, string] => ["flow", name]),
    ])));
    this.found = answers.flatMap(({ flows }) => flows);
  }

  draw(look: Look): void {
    for (const { key, chart } of this.shown) {
      chart.show(join(this.found.flatMap((flow) => {
        const slot = this.fields.get(flow.name)?.findIndex((field) => keyOf(field) === key) ?? -1;
        if (slot < 0) return [];
        return [{ time_s: flow.time_s, bin_s: flow.bin_s,
          columns: [column(flow, `congestion_${slot}`, { ...look(flow.name), label: flow.name }, write)] }];
      }), ""));
    }
  }
}
