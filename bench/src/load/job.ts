import type { Latency } from './percentiles.js';

/** A request as it is sent; `headers` are beside what its user sends with every request. */
export interface Shot {
  method: 'GET' | 'POST';
  path: string;
  /** Whose token it carries: an index of `tokens`. */
  user: number;
  /** Text of a message; a body with a `local_id` of its own is made of it for each request. */
  text?: string;
}

/**
 * `open`: requests begin at their times, whether earlier ones are answered or not. `closed`: as many at once as there
 * are connections, each followed by the next when it is answered.
 */
export type Pace = { kind: 'open'; perSecond: number } | { kind: 'closed' };

/** What a load generator process is told. */
export interface Job {
  url: string;
  shots: Shot[];
  tokens: string[];
  signatureSecret: string;
  pace: Pace;
  seconds: number;
  warmUpSeconds: number;
  connections: number;
}

/** What it saw, without the warm-up. */
export interface Measured {
  requests: number;
  /** Answered a second. */
  perSecond: number;
  /** Milliseconds; with an open pace from the time at which a request was due. */
  latency: Latency;
  /** Answers other than 2xx by status, and errors by code. */
  failures: Record<string, number>;
  /** Processor time of the generator itself, in cores. */
  generatorCores: number;
}
