import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelCallUsage } from '@uswarm/contract';
import { type Backoff, type Logger, retry } from '@uswarm/service-kit';
import type { ModelCallClient } from './model-call-client.js';

export interface SettlementsDeps {
  calls: Pick<ModelCallClient, 'settle'>;
  logger: Pick<Logger, 'warn' | 'error'>;
  /** Called for each call whose estimate is never replaced. */
  onLost: () => void;
  backoff?: Backoff & { deadlineMs: number };
  /** Milliseconds after which the orchestrator no longer stores a reservation that it received. */
  releaseMs?: number;
}

export interface Settlements {
  /**
   * Settles a call. Resolves after the first attempt; further attempts are made in the background, so that an
   * orchestrator outage does not delay responses. Never rejects.
   */
  settle(callId: string, usage: ModelCallUsage): Promise<void>;
  /** Removes a call that was not sent and may be reserved, in the background: its reservation had no answer. */
  release(callId: string): void;
  /** The number of calls that are not settled yet. */
  pending(): number;
  /** Makes the last attempts. Calls that remain keep their estimate. */
  close(graceMs: number): Promise<void>;
}

/** Longer than the orchestrator and its database take to restart. */
const BACKOFF = { initialMs: 250, maxMs: 15_000, deadlineMs: 3_600_000 };
/** Above, a call keeps its estimate instead of using more memory. */
const MAX_PENDING = 10_000;
/** Longer than an orchestrator transaction. */
const RELEASE_MS = 60_000;

/** Usage for a call that the provider did not count. */
export const REFUSED: ModelCallUsage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  estimated: false,
  outcome: 'refused',
};

export function createSettlements(deps: SettlementsDeps): Settlements {
  const { calls, logger, onLost, backoff = BACKOFF, releaseMs = RELEASE_MS } = deps;
  const pending = new Set<Promise<void>>();
  const closing = new AbortController();

  function lost(callId: string, error: unknown): void {
    onLost();
    logger.error({ err: error, call: callId }, 'a model call keeps its estimated usage');
  }

  function settleLater(callId: string, usage: ModelCallUsage, delayMs: number): void {
    const settling = sleep(delayMs, undefined, { signal: closing.signal })
      .then(() => retry(() => calls.settle(callId, usage), { ...backoff, signal: closing.signal }))
      .catch(async (error: unknown) => {
        // A last attempt at shutdown.
        if (!closing.signal.aborted) throw error;
        await calls.settle(callId, usage);
      })
      .catch((error: unknown) => lost(callId, error))
      .finally(() => pending.delete(settling));
    pending.add(settling);
  }

  const isFull = (): boolean => pending.size >= MAX_PENDING || closing.signal.aborted;

  return {
    settle: (callId, usage) =>
      calls.settle(callId, usage).catch((error: unknown) => {
        if (isFull()) return lost(callId, error);
        logger.warn({ err: error, call: callId }, 'a model call is settled later');
        settleLater(callId, usage, 0);
      }),
    release(callId) {
      if (isFull()) lost(callId, new Error('the reservation had no answer'));
      else settleLater(callId, REFUSED, releaseMs);
    },
    pending: () => pending.size,
    async close(graceMs) {
      closing.abort();
      await Promise.race([Promise.all(pending), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
    },
  };
}
