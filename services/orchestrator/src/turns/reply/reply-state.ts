import type { TurnEvent } from '@uswarm/runtime-proto';
import type { LimitReached } from '../../metering/usage-limits.js';
import type { PriceOfCall } from './runtime-output.js';
import type { ToolRequests } from './tool-requests.js';
import type { FinishedReply } from '../writer/turn-ending.js';

/** The state of a reply while the runtime streams it. Disposed, it saves and publishes nothing more. */
export interface Reply extends Disposable {
  generation: number;
  /** The number of applied events of this generation. */
  events: number;
  /** The number of events after which the runtime continues the stream. */
  readonly from: number;
  /** The text as users see it. */
  readonly text: string;
  /** The same, or that of the last generation while this one has no text. */
  readonly lastText: string;
  /** The sequence of the last durable event of the turn. Clients process ephemeral events after it. */
  seq: number;
  /** Set once the token limit is reached while the runtime continues. */
  overLimit: LimitReached | undefined;
  requests: ToolRequests;
  /** Names of the tools that the runtime may report calls of. */
  tools: Pick<ReadonlySet<string>, 'has'>;
  /** By the model of the agent, which is a setting of the turn. Set with the tools. */
  price: PriceOfCall;
  /** Whether the turn has ended although its runtime continues: it waits, or another agent answers. */
  suspended: boolean;
  /** Milliseconds for which the model provider asks to wait. Set if the turn must be postponed. */
  waitMs: number | undefined;
  /** Discards the output of an earlier generation. */
  restart(generation: number): void;
  /**
   * Applies the next event.
   *
   * @returns true once the turn is finished or must be postponed
   * @throws ReplyLimitExceeded
   */
  apply(event: TurnEvent): Promise<boolean>;
  finish(reply: FinishedReply): Promise<void>;
  /** Stores what waits for the next event. Call it before events are acknowledged. */
  flush(): Promise<void>;
  /** Saves the text soon, for a device that begins to read it. */
  saveText(): void;
  /** Stores the current activity again, before it no longer counts. */
  renewActivity(): Promise<void>;
}
