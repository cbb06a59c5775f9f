import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict, isRefusal } from '@uswarm/kube-client';
import { type Logger, retry } from '@uswarm/service-kit';
import type { Lease } from './lease.js';

export interface LeaderElectionTiming {
  /** Milliseconds between two attempts to acquire or renew the lease. */
  retryPeriodMs: number;
  /** Milliseconds without a renewal after which leadership is given up; less than the lease duration. */
  renewDeadlineMs: number;
  /** Timeout in milliseconds for releasing the lease; less than the shutdown timeout. Default: 8 s */
  releaseMs?: number;
}

export const LEASE_DURATION_S = 15;
/** A shutdown may take 15 s, and a renewal in progress up to 4 s of them. */
const RELEASE_MS = 8_000;
const DEFAULT_LEADER_ELECTION_TIMING: LeaderElectionTiming = { retryPeriodMs: 2_000, renewDeadlineMs: 10_000 };

export interface LeaderElectionDeps {
  lease: Lease;
  timing?: LeaderElectionTiming;
  /** Runs while this process is the leader, until aborted. The lease is released after it has resolved. */
  onStartedLeading: (signal: AbortSignal) => Promise<void>;
  logger: Pick<Logger, 'info' | 'warn'>;
}

type LeaseResult = 'held' | 'lost' | 'unknown';

/** Acquires the lease, leads while it holds it, and returns to standby when it is lost, until aborted. */
export async function runLeaderElection(deps: LeaderElectionDeps, signal: AbortSignal): Promise<void> {
  const { lease, timing = DEFAULT_LEADER_ELECTION_TIMING, onStartedLeading, logger } = deps;
  const tryAcquireOrRenew = async (timeoutMs: number): Promise<LeaseResult> => {
    try {
      return (await lease.tryAcquireOrRenew(AbortSignal.timeout(timeoutMs))) ? 'held' : 'lost';
    } catch (error) {
      logger.warn({ err: error }, 'failed to read or renew the lease');
      return 'unknown';
    }
  };
  while (!signal.aborted) {
    // The lease counts from the request, however late the response is.
    const requestedAt = performance.now();
    if ((await tryAcquireOrRenew(timing.renewDeadlineMs)) === 'held') {
      logger.info({}, 'became leader');
      const lost = new AbortController();
      const leading = onStartedLeading(AbortSignal.any([signal, lost.signal]));
      await renewUntilLost(tryAcquireOrRenew, timing, requestedAt, signal);
      lost.abort(new Error('lost leadership'));
      await leading;
      if (!signal.aborted) logger.warn({}, 'lost leadership');
    }
    await pause(timing.retryPeriodMs, signal);
  }
  await release(lease, timing.releaseMs ?? RELEASE_MS).catch((error: unknown) => {
    logger.warn({ err: error }, 'failed to release the lease; it will expire');
  });
}

/** Retries after a failure. A refusal is final, for example when an uninstall has deleted the RBAC rules. */
function release(lease: Lease, deadlineMs: number): Promise<void> {
  const signal = AbortSignal.timeout(deadlineMs);
  const retryable = (error: unknown): boolean => !isRefusal(error) || isConflict(error);
  return retry(() => lease.release(signal), { initialMs: 100, maxMs: 1_000, deadlineMs, signal, retryable });
}

/** Resolves when another process holds the lease, or when it could not be renewed until the deadline. */
async function renewUntilLost(
  tryAcquireOrRenew: (timeoutMs: number) => Promise<LeaseResult>,
  { retryPeriodMs, renewDeadlineMs }: LeaderElectionTiming,
  acquiredAt: number,
  signal: AbortSignal,
): Promise<void> {
  let renewedAt = acquiredAt;
  const left = (): number => renewDeadlineMs - (performance.now() - renewedAt);
  while (left() > 0) {
    await pause(Math.min(retryPeriodMs, left()), signal);
    if (signal.aborted) return;
    const requestedAt = performance.now();
    const result = await tryAcquireOrRenew(Math.max(1, Math.min(retryPeriodMs * 2, left())));
    if (result === 'held') renewedAt = requestedAt;
    if (result === 'lost') return;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
