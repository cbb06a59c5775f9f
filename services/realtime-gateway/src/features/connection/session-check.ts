import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { OpenSession } from './session-registry.js';

export interface SessionCheckDeps {
  orchestrator: Pick<OrchestratorClient, 'endedSessions'>;
  /** The sockets there are now. */
  open: () => readonly OpenSession[];
  /** Milliseconds between two checks. */
  everyMs: number;
  timers: Timers;
  logger: Pick<Logger, 'debug'>;
}

const SESSIONS_A_QUESTION = 500;

/**
 * Asks the orchestrator periodically which sockets belong to revoked sessions. The bus delivers revocations
 * immediately but at most once: those of an outage are found here. @returns stops it
 */
export function checkSessions({ orchestrator, open, everyMs, timers, logger }: SessionCheckDeps): () => void {
  let stopped = false;
  let cancel: (() => void) | undefined;

  async function check(): Promise<void> {
    const sessions = open();
    for (let first = 0; first < sessions.length && !stopped; first += SESSIONS_A_QUESTION) {
      const asked = sessions.slice(first, first + SESSIONS_A_QUESTION);
      const question = asked.map(({ userId, tokenHash, issuedAt }) => ({
        user_id: userId,
        token_hash: tokenHash,
        issued_at: issuedAt,
      }));
      const { ended } = await orchestrator.endedSessions(question, randomUUID());
      for (const place of ended) asked[place]?.close('session_ended');
    }
  }

  function again(): void {
    if (stopped) return;
    cancel = timers.after(everyMs, () => {
      check()
        // If the orchestrator is unavailable, sockets stay open until the next check.
        .catch((error: unknown) => logger.debug({ err: error }, 'sessions were not checked'))
        .finally(again);
    });
  }

  again();
  return () => {
    stopped = true;
    cancel?.();
  };
}
