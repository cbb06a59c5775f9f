import { ApiError } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../platform/database/database.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { appendAudit } from '../../records/audit.store.js';
import { releaseTurn, findTurnToRequeue, requeueFailedTurn } from './requeue.store.js';

export interface RequeueServiceDeps {
  withTransaction: WithTransaction;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
  /** Notifies the turn workers. */
  notifyTurns: () => void;
}

export interface Requeued {
  requeued: string[];
  refused: { id: string; why: string }[];
}

/**
 * Makes a queued or running turn due immediately for any free worker, and restarts a failed turn from the beginning.
 */
export type Requeue = (actor: string, turnIds: readonly string[], reason: string) => Promise<Requeued>;

export function createRequeue({ withTransaction, runtimes, notifyTurns }: RequeueServiceDeps): Requeue {
  /** @returns `why` if the turn was not requeued */
  async function again(turnId: string, tx: Transaction): Promise<{ why?: string; userId?: string }> {
    tx.afterCommit(notifyTurns);
    const waiting = await releaseTurn(tx, turnId);
    const turn = await findTurnToRequeue(tx, turnId);
    if (turn === undefined) return { why: 'turn not found' };
    const { status, userId, workspaceId } = turn;
    if (waiting) return { userId };
    if (status !== 'failed') return { why: `the turn is ${status}` };
    await runtimes.ensureResumed(workspaceId, tx);
    if (!(await requeueFailedTurn(tx, turnId))) return { why: 'the turn was restarted meanwhile' };
    return { userId };
  }

  async function requeueOne(actor: string, turnId: string, reason: string): Promise<string | undefined> {
    const outcome = await withTransaction(async (tx) => {
      const result = await again(turnId, tx);
      if (result.userId !== undefined) {
        const { userId } = result;
        await appendAudit(tx, { actor, action: 'turns.requeue', userId, subjectId: turnId, details: { reason } });
      }
      return result;
    });
    return outcome.why;
  }

  return async (actor, turnIds, reason) => {
    const result: Requeued = { requeued: [], refused: [] };
    for (const id of new Set(turnIds)) {
      const why = await requeueOne(actor, id, reason).catch((error: unknown) => {
        if (error instanceof ApiError) return error.message;
        throw error;
      });
      if (why === undefined) result.requeued.push(id);
      else result.refused.push({ id, why });
    }
    return result;
  };
}
