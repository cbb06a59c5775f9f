import type { Usage } from '@uswarm/runtime-proto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LimitReached } from '../../metering/usage-limits.js';
import type { TurnRow } from '../turns.store.js';
import type { Reserved } from '../writer/turn-budget.js';
import type { TurnWriter } from '../writer/turn-writes.js';
import { type PriceOfCall, usageEntry } from './runtime-output.js';

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

/** Bounded, because a killed process never gives back the tokens that its model call reserved. */
const ATTEMPTS = 240;
const EVERY_MS = 500;

export interface WaitOptions {
  isAborted: () => boolean;
  signal: AbortSignal;
  everyMs?: number | undefined;
}

/**
 * Reserves tokens. Waits up to two minutes while other turns' running model calls have reserved the rest of the budget.
 *
 * @returns `busy` only if the turn was stopped or has ended
 */
export async function reserveWhenFree(reserve: () => Promise<Reserved>, options: WaitOptions): Promise<Reserved> {
  const { isAborted, signal, everyMs = EVERY_MS } = options;
  for (let attempt = 1; ; attempt += 1) {
    const reserved = await reserve();
    if (reserved !== 'busy' || isAborted()) return reserved;
    if (attempt === ATTEMPTS) return 'budget_reached';
    await sleep(everyMs, undefined, { signal });
  }
}
