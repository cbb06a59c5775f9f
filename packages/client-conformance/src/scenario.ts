import type { Stage } from './stage.js';
import type { Transport } from './server/seen.js';

export interface Scenario {
  name: string;
  /** What a client must show or do. */
  shows: string;
  /** The rule behind it. */
  why: string;
  /** Only over this transport. */
  only?: Transport;
  /** Seconds between pings of the socket and until it is lost. */
  pings?: { intervalMs: number; timeoutMs: number };
  run(stage: Stage): Promise<void>;
}
