// The answers of the server's API; see web/api.py.

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
  fields: Record<string, Value[]>;
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

export interface Answers {
  tcp: { flows: Samples[] };
  goodput: { bin_s: number; flows: Goodput[] };
  queues: { queues: QueueSamples[] };
}

/** Fetch JSON; throws an Error with the server's message. */
export async function fetchJson<T>(url: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(url, { signal });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? response.statusText);
  return answer as T;
}
