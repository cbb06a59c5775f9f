import { ApiError } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../platform/database/database.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import type { AuditStore } from '../../records/audit.store.js';
import type { RequeueStore } from './requeue.store.js';

export interface RequeueServiceDeps {
  withTransaction: WithTransaction;
  store: RequeueStore;
  audit: Pick<AuditStore, 'append'>;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
}

export interface Requeued {
  requeued: string[];
  refused: { id: string; why: string }[];
}

/**
 * Makes a queued or running turn due immediately for any free worker, and restarts a failed turn from the beginning.
 */
export type Requeue = (actor: string, turnIds: readonly string[], reason: string) => Promise<Requeued>;

export function createRequeue({ withTransaction, store, audit, runtimes }: RequeueServiceDeps): Requeue {
  /** @returns `why` if the turn was not requeued */
  async function again(turnId: string, tx: Transaction): Promise<{ why?: string; userId?: string }> {
    const waiting = await store.release(turnId, tx);
    const turn = await store.find(turnId, tx);
    if (turn === undefined) return { why: 'turn not found' };
    const { status, userId, workspaceId } = turn;
    if (waiting) return { userId };
    if (status !== 'failed') return { why: `the turn is ${status}` };
    await runtimes.ensureResumed(workspaceId, tx);
    if (!(await store.reopen(turnId, tx))) return { why: 'the turn was restarted meanwhile' };
    return { userId };
  }

  async function requeueOne(actor: string, turnId: string, reason: string): Promise<string | undefined> {
    const outcome = await withTransaction(async (tx) => {
      const result = await again(turnId, tx);
      if (result.userId !== undefined) {
        const { userId } = result;
        await audit.append({ actor, action: 'turns.requeue', userId, subjectId: turnId, details: { reason } }, tx);
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
