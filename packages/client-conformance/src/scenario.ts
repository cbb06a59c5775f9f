import type { Stage } from './stage.js';
import type { Transport } from './server/seen.js';
import type { Pings } from './server/socket.js';

export interface Scenario {
  name: string;
  /** What a client must show or do. */
  shows: string;
  /** The rule behind it. */
  why: string;
  /** Only over this transport. */
  only?: Transport;
  /** Of the socket; otherwise those of the service. */
  pings?: Pings;
  run(stage: Stage): Promise<void>;
}
