import type { TurnEvent } from '@uswarm/runtime-proto';
import type { LimitReached } from '../../metering/usage-limits.js';
import type { PriceOfCall } from './runtime-output.js';
import type { ToolRequests } from './tool-requests.js';
import type { FinishedReply } from '../writer/turn-ending.js';

/** Disposed, it saves and publishes nothing more. */
export interface Reply extends Disposable {
  generation: number;
  /** Applied in this generation. */
  events: number;
  /** The runtime continues the stream after this many events. */
  readonly from: number;
  readonly text: string;
  /** Like `text`, but the previous generation's text while this one has none. */
  readonly lastText: string;
  /** Sequence of the turn's last durable event. Clients process ephemeral events after it. */
  seq: number;
  /** Set once the token limit is reached while the runtime continues. */
  overLimit: LimitReached | undefined;
  requests: ToolRequests;
  /** Tools whose calls the runtime may report. */
  tools: Pick<ReadonlySet<string>, 'has'>;
  /** Depends on the agent's model. Set with the tools. */
  price: PriceOfCall;
  /** True if the turn has ended although its runtime continues: it waits, or another agent answers. */
  suspended: boolean;
  /** Delay in ms that the model provider asks for. Set if the turn must be postponed. */
  waitMs: number | undefined;
  restart(generation: number): void;
  /**
   * @returns true once the turn is finished or must be postponed
   * @throws ReplyLimitExceeded
   */
  apply(event: TurnEvent): Promise<boolean>;
  finish(reply: FinishedReply): Promise<void>;
  /** Stores what waits for the next event. Call it before events are acknowledged. */
  flush(): Promise<void>;
  /** For a device that begins to read it. */
  saveText(): void;
  /** Call it before the activity expires. */
  renewActivity(): Promise<void>;
}
