import type { Usage } from '@uswarm/runtime-proto';
import type { LimitReached } from '../../metering/usage-limits.js';
import { type PriceOfCall, usageEntry } from './runtime-output.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';

export interface ReplyUsageDeps {
  turn: TurnRow;
  writer: Pick<TurnWriter, 'usage'>;
  price: PriceOfCall;
}

/** Reported outside the journal. */
export interface ReplyUsage {
  reached: LimitReached | undefined;
  readonly waits: boolean;
  /** Records usage with the next write: the last call's usage is stored when the turn ends. */
  record(usage: Usage, isAnnounced: boolean): void;
}

export function createReplyUsage({ turn, writer, price }: ReplyUsageDeps): ReplyUsage {
  let waiting = 0;
  const usage: ReplyUsage = {
    reached: undefined,
    get waits() {
      return waiting > 0;
    },
    record(reported, isAnnounced) {
      const counted = isAnnounced ? 'reserved' : 'unannounced';
      const entry = usageEntry(turn, reported, price);
      waiting += 1;
      writer.usage(entry, reported.refused ? 'refused' : counted, (reached) => {
        waiting -= 1;
        usage.reached = reached;
      });
    },
  };
  return usage;
}
