import type { ModelCallUsage } from '@uswarm/contract';
import { type Backoff, type Logger, retry } from '@uswarm/service-kit';
import type { ModelCallClient } from './model-call-client.js';

export interface SettlementsDeps {
  calls: Pick<ModelCallClient, 'settle'>;
  logger: Pick<Logger, 'warn' | 'error'>;
  /** Called for each call whose estimate is never replaced. */
  onLost: () => void;
  backoff?: Backoff & { deadlineMs: number };
}

export interface Settlements {
  /**
   * Settles a call. Resolves after the first attempt; further attempts are made in the background, so that an outage of
   * the orchestrator does not delay responses. Never rejects.
   */
  settle(callId: string, usage: ModelCallUsage): Promise<void>;
  /** The number of calls that are not settled yet. */
  pending(): number;
  /** Makes the last attempts. Calls that remain keep their estimate. */
  close(graceMs: number): Promise<void>;
}

/** Longer than a restart of the orchestrator and of its database. */
const BACKOFF = { initialMs: 250, maxMs: 15_000, deadlineMs: 3_600_000 };
/** Above, a call keeps its estimate instead of using more memory. */
const MAX_PENDING = 10_000;

export function createSettlements({ calls, logger, onLost, backoff = BACKOFF }: SettlementsDeps): Settlements {
  const pending = new Set<Promise<void>>();
  const closing = new AbortController();

  function lost(callId: string, error: unknown): void {
    onLost();
    logger.error({ err: error, call: callId }, 'a model call keeps its estimated usage');
  }

  function settleLater(callId: string, usage: ModelCallUsage, firstError: unknown): void {
    if (pending.size >= MAX_PENDING || closing.signal.aborted) return lost(callId, firstError);
    logger.warn({ err: firstError, call: callId }, 'a model call is settled later');
    const settling = retry(() => calls.settle(callId, usage), { ...backoff, signal: closing.signal })
      .catch(async (error: unknown) => {
        // A last attempt at shutdown.
        if (!closing.signal.aborted) throw error;
        await calls.settle(callId, usage);
      })
      .catch((error: unknown) => lost(callId, error))
      .finally(() => pending.delete(settling));
    pending.add(settling);
  }

  return {
    settle: (callId, usage) => calls.settle(callId, usage).catch((error: unknown) => settleLater(callId, usage, error)),
    pending: () => pending.size,
    async close(graceMs) {
      closing.abort();
      await Promise.race([Promise.all(pending), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
    },
  };
}
