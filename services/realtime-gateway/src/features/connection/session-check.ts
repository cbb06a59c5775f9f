import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { OpenSession } from './session-registry.js';

export interface SessionCheckDeps {
  orchestrator: Pick<OrchestratorClient, 'endedSessions'>;
  /** The open sockets. */
  open: () => readonly OpenSession[];
  /** Milliseconds between two checks. */
  everyMs: number;
  timers: Timers;
  logger: Pick<Logger, 'debug'>;
}

const SESSIONS_PER_REQUEST = 500;

/**
 * Asks the orchestrator periodically which sockets have revoked sessions. The bus delivers revocations immediately but at
 * most once; this check finds those that were lost in an outage. @returns stops the check
 */
export function checkSessions({ orchestrator, open, everyMs, timers, logger }: SessionCheckDeps): () => void {
  let stopped = false;
  let cancel: (() => void) | undefined;

  async function check(): Promise<void> {
    const sessions = open();
    for (let first = 0; first < sessions.length && !stopped; first += SESSIONS_PER_REQUEST) {
      const batch = sessions.slice(first, first + SESSIONS_PER_REQUEST);
      const request = batch.map(({ userId, tokenHash, issuedAt }) => ({
        user_id: userId,
        token_hash: tokenHash,
        issued_at: issuedAt,
      }));
      const { ended } = await orchestrator.endedSessions(request, randomUUID());
      for (const index of ended) batch[index]?.close('session_ended');
    }
  }

  function scheduleNext(): void {
    if (stopped) return;
    cancel = timers.after(everyMs, () => {
      check()
        // If the orchestrator is unavailable, sockets stay open until the next check.
        .catch((error: unknown) => logger.debug({ err: error }, 'session check failed'))
        .finally(scheduleNext);
    });
  }

  scheduleNext();
  return () => {
    stopped = true;
    cancel?.();
  };
}
