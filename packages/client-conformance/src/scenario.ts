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
  /** Heartbeat intervals of the socket; default: the service's. */
  pings?: Pings;
  run(stage: Stage): Promise<void>;
}
