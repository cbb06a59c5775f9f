import type { Stage } from './stage.js';
import type { Transport } from './server/seen.js';
import type { Pings } from './server/socket.js';

export interface Scenario {
  name: string;
  /** A sentence with the required behaviour, for tables. */
  shows: string;
  /** The rule behind it. */
  why: string;
  /** Only over this transport. */
  only?: Transport;
  /** Intervals of the socket's heartbeat; default: those of the service. */
  pings?: Pings;
  run(stage: Stage): Promise<void>;
}
