import type { Latency } from './percentiles.js';

/** A request as it is sent; `headers` are beside what its user sends with every request. */
export interface RequestSample {
  method: 'GET' | 'POST';
  path: string;
  /** Whose token it carries: an index of `tokens`. */
  user: number;
  /** Text of a message; each request gets a body with this text and a new `local_id`. */
  text?: string;
}

/**
 * `open`: requests begin at their times, whether earlier ones are answered or not. `closed`: each connection sends
 * its next request when the last one is answered.
 */
export type RateSchedule = { kind: 'open'; perSecond: number } | { kind: 'closed' };

/** What a load generator process is told. */
export interface Job {
  url: string;
  requests: RequestSample[];
  tokens: string[];
  signatureSecret: string;
  schedule: RateSchedule;
  seconds: number;
  warmUpSeconds: number;
  connections: number;
}

/** What it saw, without the warm-up. */
export interface Measured {
  requests: number;
  /** Answered a second. */
  perSecond: number;
  /** Milliseconds; with an open schedule from the time at which a request was due. */
  latency: Latency;
  /** Answers other than 2xx by status, and errors by code. */
  failures: Record<string, number>;
  /** Processor time of the generator itself, in cores. */
  generatorCores: number;
}
