// What each chart of flows draws: windows, RTTs, goodput, and delays and loss of UDP.

import type { Answers, Samples } from "./api";
import type { Picture } from "./chart";
import { type Column, column, join, type Look } from "./series";
import { colour, digits, rate, whole } from "./style";

/** What the table of flows says of a flow. */
export interface Flow {
  name: string;
  /** The base RTT that is configured; none of UDP and of links that are not emulated. */
  baseRttS?: number;
}

const MOST_NAMES = 3;

export const ms = (value: number) => `${digits(value, 4)} ms`;
const percent = (value: number) => `${digits(value, 3)} %`;

/** Before a loss, and with algorithms that have none, ssthresh is infinite, which is null. */
const hasSsthresh = (flow: Samples) => flow.summary.snd_ssthresh_segments?.max != null;

export function windows(flows: Samples[], look: Look, ssthresh: boolean): Picture {
  return join(flows.map((flow) => ({
    time_s: flow.time_s,
    bin_s: flow.bin_s,
    columns: [
      column(flow, "snd_cwnd_segments", { ...look(flow.name), label: `${flow.name} cwnd` }, whole),
      ...(ssthresh && hasSsthresh(flow) ? [withoutBand(column(flow, "snd_ssthresh_segments",
        { ...look(flow.name), label: `${flow.name} ssthresh`, dash: [1.5, 3], width: 1.2 }, whole))] : []),
    ],
  })), "");
}

const withoutBand = (one: Column): Column => ({ ...one, line: { ...one.line, band: undefined } });

export function roundTrips(flows: Samples[], look: Look, known: Flow[]): Picture {
  const picture = join(flows.map((flow) => ({
    time_s: flow.time_s,
    bin_s: flow.bin_s,
    columns: [column(flow, "rtt_us", { ...look(flow.name), label: flow.name }, ms, 1e-3)],
  })), "");
  const drawn = new Set(flows.filter(({ time_s }) => time_s.length).map(({ name }) => name));
  return withBase(picture, known.filter(({ name }) => drawn.has(name)), look);
}

/** Add a level line for each base RTT of the flows. */
export function withBase(picture: Picture, flows: Flow[], look: Look): Picture {
  const groups = new Map<number, string[]>();
  for (const { name, baseRttS } of flows) {
    if (baseRttS !== undefined) groups.set(baseRttS, [...(groups.get(baseRttS) ?? []), name]);
  }
  const levels = [...groups].map(([base, names]): Column => ({
    line: {
      label: `base RTT${groups.size > 1 ? ` of ${several(names)}` : ""}`,
      stroke: names.length === 1 && groups.size > 1 ? look(names[0] ?? "").stroke : colour("--dim"),
      dash: [2, 4], width: 1.2, write: ms,
    },
    values: picture.x.map(() => base * 1e3),
  }));
  return {
    ...picture,
    lines: [...picture.lines, ...levels.map(({ line }) => line)],
    columns: [...picture.columns, ...levels.map(({ values }) => values)],
  };
}

const several = (names: string[]) => (names.length > MOST_NAMES ? `${names.length} flows` : names.join(", "));

export function goodputs(answer: Answers["goodput"], look: Look): Picture {
  const estimated = answer.flows.some((flow) => flow.source === "sender" && flow.time_s.length);
  const note = `mean over ${digits(answer.bin_s)} s` + (estimated ? "; where no receiver was sampled, acknowledged bytes" : "");
  return join(answer.flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [{
      line: { ...look(flow.name), label: flow.name, write: rate, samples: flow.time_s.length, summary: flow.summary.goodput_bps },
      values: flow.goodput_bps,
    }],
  })), note);
}

export function delays(answer: Answers["datagrams"], look: Look): Picture {
  return join(answer.flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [column(flow, "one_way_delay_s", { ...look(flow.name), label: flow.name }, ms, 1e3)],
  })), `mean over ${digits(answer.bin_s)} s, shaded from least to largest`);
}

export function losses(answer: Answers["datagrams"], look: Look): Picture {
  return join(answer.flows.map((flow) => ({
    time_s: flow.time_s,
    columns: [column(flow, "loss_ratio", { ...look(flow.name), label: flow.name }, percent, 100)],
  })), `over ${digits(answer.bin_s)} s, of the datagrams that were expected`);
}
