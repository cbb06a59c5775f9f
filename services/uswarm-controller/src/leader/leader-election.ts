import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict, isRefusal } from '@uswarm/kube-client';
import { type Logger, retry } from '@uswarm/service-kit';
import type { Lease } from './lease.js';

export interface LeaderElectionTiming {
  /** Milliseconds between two attempts to get the lease or to renew it. */
  everyMs: number;
  /** Milliseconds without a renewal after which leading ends; less than the lease lasts. */
  deadlineMs: number;
  /** Milliseconds that giving the lease back may take; less than a shutdown may. Default: 8 s */
  releaseMs?: number;
}

export const LEASE_DURATION_S = 15;
/** A shutdown may take 15 s, and a renewal under way up to 4 s of them. */
const RELEASE_MS = 8_000;
const DEFAULT_LEADER_ELECTION_TIMING: LeaderElectionTiming = { everyMs: 2_000, deadlineMs: 10_000 };

export interface LeaderElectionDeps {
  lease: Lease;
  timing?: LeaderElectionTiming;
  /** Leads until aborted; the lease is given back only after it has ended. */
  lead: (signal: AbortSignal) => Promise<void>;
  logger: Pick<Logger, 'info' | 'warn'>;
}

type Hold = 'held' | 'lost' | 'unknown';

/** Stands by for the lease, leads while it holds it, and stands by again if it is lost, until aborted. */
export async function runLeaderElection(deps: LeaderElectionDeps, signal: AbortSignal): Promise<void> {
  const { lease, timing = DEFAULT_LEADER_ELECTION_TIMING, lead, logger } = deps;
  const hold = async (timeoutMs: number): Promise<Hold> => {
    try {
      return (await lease.tryAcquireOrRenew(AbortSignal.timeout(timeoutMs))) ? 'held' : 'lost';
    } catch (error) {
      logger.warn({ err: error }, 'the lease can be neither read nor renewed');
      return 'unknown';
    }
  };
  while (!signal.aborted) {
    // The lease runs from when it was asked for, however late the answer comes.
    const asked = performance.now();
    if ((await hold(timing.deadlineMs)) === 'held') {
      logger.info({}, 'leading');
      const lost = new AbortController();
      const leading = lead(AbortSignal.any([signal, lost.signal]));
      await renewUntilLost(hold, timing, asked, signal);
      lost.abort(new Error('the lease is lost'));
      await leading;
      if (!signal.aborted) logger.warn({}, 'the lease is lost: standing by');
    }
    await pause(timing.everyMs, signal);
  }
  await release(lease, timing.releaseMs ?? RELEASE_MS).catch((error: unknown) => {
    logger.warn({ err: error }, 'the lease could not be released and has to run out');
  });
}

/** Waits for a slow server and tries again after a failure; a refusal is final, as after an uninstall has taken the rights. */
function release(lease: Lease, deadlineMs: number): Promise<void> {
  const signal = AbortSignal.timeout(deadlineMs);
  const retryable = (error: unknown): boolean => !isRefusal(error) || isConflict(error);
  return retry(() => lease.release(signal), { initialMs: 100, maxMs: 1_000, deadlineMs, signal, retryable });
}

/** Ends when another holds it, or when for the whole deadline nobody could say. */
async function renewUntilLost(
  hold: (timeoutMs: number) => Promise<Hold>,
  { everyMs, deadlineMs }: LeaderElectionTiming,
  acquiredAt: number,
  signal: AbortSignal,
): Promise<void> {
  let renewedAt = acquiredAt;
  const left = (): number => deadlineMs - (performance.now() - renewedAt);
  while (left() > 0) {
    await pause(Math.min(everyMs, left()), signal);
    if (signal.aborted) return;
    const asked = performance.now();
    const answer = await hold(Math.max(1, Math.min(everyMs * 2, left())));
    if (answer === 'held') renewedAt = asked;
    if (answer === 'lost') return;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
