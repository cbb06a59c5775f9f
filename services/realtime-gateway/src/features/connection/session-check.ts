import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { SessionData } from './session-data.js';
import type { OpenSession } from './session-registry.js';

export interface SessionCheckDeps {
  orchestrator: Pick<OrchestratorClient, 'endedSessions'>;
  /** The open sockets. */
  open: () => readonly OpenSession[];
  /** Milliseconds between two checks. */
  everyMs: number;
  /** Milliseconds until the next check if the last one failed, or if a socket was admitted without a confirmation. */
  retryMs: number;
  /** Milliseconds for which a resuming socket waits for the confirmation. */
  confirmMs: number;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
  logger: Pick<Logger, 'debug'>;
}

/** `unknown`: the orchestrator did not respond in time. */
export type SessionState = 'open' | 'ended' | 'unknown';
type CheckedSession = Pick<SessionData, 'userId' | 'tokenHash' | 'issuedAt'>;

export interface SessionCheck {
  /** Asks about a resuming socket's session. Sessions that resume together share a request. */
  confirm(session: CheckedSession): Promise<SessionState>;
  stop(): void;
}

const SESSIONS_PER_REQUEST = 500;
/** Milliseconds for which the first resuming socket waits for others. */
const COLLECT_MS = 20;

/**
 * Asks the orchestrator periodically which sockets have revoked sessions. The bus delivers revocations immediately but
 * at most once; this check finds revocations that were lost in an outage.
 */
export function checkSessions(deps: SessionCheckDeps): SessionCheck {
  const { orchestrator, open, everyMs, retryMs, timers, now, logger } = deps;
  let stopped = false;
  let unconfirmed = false;
  let cancel: (() => void) | undefined;
  let running = false;

  const ask = async (sessions: readonly CheckedSession[]): Promise<ReadonlySet<number>> => {
    const request = sessions.map(({ userId, tokenHash, issuedAt }) => ({
      user_id: userId,
      token_hash: tokenHash,
      issued_at: issuedAt,
    }));
    return new Set((await orchestrator.endedSessions(request, randomUUID())).ended);
  };

  async function check(): Promise<void> {
    const sessions = open();
    for (let first = 0; first < sessions.length && !stopped; first += SESSIONS_PER_REQUEST) {
      const batch = sessions.slice(first, first + SESSIONS_PER_REQUEST);
      const hashes = batch.map(({ data }) => data.tokenHash);
      const requestedAt = now();
      const ended = await ask(batch.map(({ data }) => data));
      for (const [index, { data, close }] of batch.entries()) {
        // The session was renewed meanwhile: the result is about the replaced credential.
        if (data.tokenHash !== hashes[index]) continue;
        if (ended.has(index)) close('session_ended');
        else data.confirmedAt = Math.max(data.confirmedAt, requestedAt);
      }
    }
  }

  function schedule(ms: number): void {
    cancel?.();
    if (stopped) return;
    cancel = timers.after(ms, () => {
      running = true;
      unconfirmed = false;
      check()
        .catch((error: unknown) => {
          // Sockets stay open until the orchestrator is available.
          unconfirmed = true;
          logger.debug({ err: error }, 'session check failed');
        })
        .finally(() => {
          running = false;
          schedule(unconfirmed ? retryMs : everyMs);
        });
    });
  }

  function checkSoon(): void {
    if (unconfirmed) return;
    unconfirmed = true;
    if (!running) schedule(retryMs);
  }

  const confirm = createBatches(ask, deps.confirmMs, timers);
  schedule(everyMs);
  return {
    async confirm(session) {
      const state = await confirm(session);
      if (state === 'unknown') checkSoon();
      return state;
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };
}

type Settle = (state: SessionState) => void;

/** Collects questions into requests. A question without a response within `waitMs` results in `unknown`. */
function createBatches(
  ask: (sessions: readonly CheckedSession[]) => Promise<ReadonlySet<number>>,
  waitMs: number,
  timers: Timers,
): (session: CheckedSession) => Promise<SessionState> {
  const waiting: { session: CheckedSession; settle: Settle }[] = [];

  function send(): void {
    const batch = waiting.splice(0, SESSIONS_PER_REQUEST);
    if (batch.length === 0) return;
    const giveUp = timers.after(waitMs, () => batch.forEach(({ settle }) => settle('unknown')));
    ask(batch.map(({ session }) => session))
      .then(
        (ended) => batch.forEach(({ settle }, index) => settle(ended.has(index) ? 'ended' : 'open')),
        () => batch.forEach(({ settle }) => settle('unknown')),
      )
      .finally(giveUp);
  }

  return (session) =>
    new Promise((settle) => {
      waiting.push({ session, settle });
      if (waiting.length >= SESSIONS_PER_REQUEST) send();
      else if (waiting.length === 1) timers.after(COLLECT_MS, send);
    });
}
