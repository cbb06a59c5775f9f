import { randomUUID } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Timers } from '../../timers.js';
import type { OpenSession } from './session-ends.js';

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
 * Asks the orchestrator now and then which sockets are of sessions that have ended. The bus says so at
 * once, but at most once: what was said while it was away is found out here. @returns ends it
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
        // Whoever cannot be asked keeps the sockets open; next time is soon.
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
