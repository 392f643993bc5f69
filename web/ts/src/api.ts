// The answers of the server's API; see web/api.py and web/curves.py.

export type Value = number | null;

export interface Summary {
  min: Value;
  mean: Value;
  max: Value;
  last: Value;
}

export interface Samples {
  name: string;
  samples: number;
  time_s: number[];
  /** With bins, `fields` has the mean of each. */
  bin_s?: number;
  low?: Record<string, Value[]>;
  fields: Record<string, Value[]>;
  high?: Record<string, Value[]>;
  summary: Record<string, Summary>;
}

export interface QueueSamples extends Samples {
  direction: string;
  rate_bps: Value;
  rate_steps: [number, number][];
  limit_packets: Value;
  limit_bytes: Value;
}

export interface Goodput {
  name: string;
  source: "receiver" | "sender";
  time_s: number[];
  goodput_bps: Value[];
  summary: Record<string, Summary>;
}

export interface Transfers {
  name: string;
  transfers: number;
  completed: number;
  fct_s: number[];
  share: number[];
}

export interface Answers {
  tcp: { flows: Samples[] };
  goodput: { bin_s: number; flows: Goodput[] };
  queues: { queues: QueueSamples[] };
  datagrams: { bin_s: number; flows: Samples[] };
  transfers: { flows: Transfers[] };
}

export interface Moment {
  time_s: number;
  until_s: number | null;
  flow: string;
  kind: string;
  text: string;
  trace: number;
}

export interface Moments {
  kinds: Record<string, number>;
  flows: Record<string, number>;
  found: number;
  moments: Moment[];
}

export interface Stories {
  flows: {
    flow: string;
    limited_by: Record<string, number> | null;
    costliest: { time_s: number; until_s: number; is_back: boolean; cost_bytes: number; level_bps: number; kinds: string[]; events: number }[];
  }[];
}

export interface Bytes {
  found: number;
  time_s: number[];
  first: number[];
  end: number[];
}

export interface TimeSequence {
  flow: string;
  connections: number;
  has_segments: boolean;
  has_sacks: boolean;
  new: Bytes;
  again: Bytes;
  sacks: Bytes;
  time_s: number[];
  acked: number[];
  edge: number[];
}

export interface Points {
  found: number;
  time_s: number[];
  flow: (string | null)[];
  packets: number[];
}

export interface TracedQueue {
  channel: string;
  limit_packets: Value;
  samples: number;
  time_s: number[];
  packets: number[];
  flows: { name: string; packets: number[] }[];
  lost: Points;
  marks: Points;
}

export interface AckStates {
  name: string;
  connections: number;
  samples: number;
  time_s: number[];
  cwnd_segments: Value[];
  ssthresh_segments: Value[];
  in_flight_segments: Value[];
}

/** Fetch JSON; throws an Error with the server's message. */
export async function fetchJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(url, signal ? { signal } : {});
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
  return answer as T;
}
