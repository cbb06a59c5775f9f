import type { Latency } from './percentiles.js';

/** A request; `headers` are sent in addition to the user's credentials. */
export interface RequestSample {
  method: 'GET' | 'POST';
  path: string;
  /** The user: an index of `tokens`. */
  user: number;
  /** Message text; each request gets a body with this text and a new `local_id`. */
  text?: string;
}

/**
 * `open`: requests are sent at their due times, independent of earlier responses. `closed`: each connection sends its
 * next request after the previous response.
 */
export type RateSchedule = { kind: 'open'; perSecond: number } | { kind: 'closed' };

/** Input for a load generator process. */
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

/** Its results, without the warm-up. */
export interface Measured {
  requests: number;
  /** Responses per second. */
  perSecond: number;
  /** Milliseconds; with an open schedule from the time at which a request was due. */
  latency: Latency;
  /** Responses other than 2xx by status, and errors by code. */
  failures: Record<string, number>;
  /** The generator's CPU usage, in cores. */
  generatorCores: number;
}
