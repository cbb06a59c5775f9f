import { ApiError } from '@uswarm/contract';
import type { Database, Transaction } from '../platform/database/database.js';
import type { JobQueue, LeasedJob } from '../platform/jobs/job-queue.js';
import type * as messageRecords from '../records/messages.store.js';
import { TURN_JOB } from '../records/turn-job.js';
import type { WorkspaceAccess } from '../workspaces/workspace-access.js';
import type { Delegations } from './delegations/delegations.js';
import type * as delegationRecords from './delegations/delegations.store.js';
import { STOPPED_SENTENCE } from './reply/finished-reply.js';
import type { CancelRuntimeTurn } from './cancel-runtime-turn.js';
import { isUnfinished } from './turn-status.js';
import type * as turnRecords from './turns.store.js';
import type { TurnRow } from './turns.store.js';
import type { WorkflowCancellation } from './workflows/workflow-cancellation.js';
import { LeaseLost } from './commit.js';
import { createTurnWriter } from './writer/turn-writer.js';
import type { TurnWriterDeps } from './writer/writing.js';

export interface StopServiceDeps extends Omit<TurnWriterDeps, 'messages' | 'turns' | 'jobs'> {
  database: Database;
  messages: TurnWriterDeps['messages'] & Pick<typeof messageRecords, 'findMessages'>;
  turns: TurnWriterDeps['turns'] &
    Pick<typeof turnRecords, 'getTurn' | 'findTurnsOfMessage' | 'getTurnStatus' | 'requestStop'>;
  delegations: TurnWriterDeps['delegations'] & Pick<typeof delegationRecords, 'findDelegationOfTurn'>;
  tasks: TurnWriterDeps['tasks'] & Pick<Delegations, 'stopSuspended'>;
  jobs: TurnWriterDeps['jobs'] & Pick<JobQueue, 'lock' | 'takeOver' | 'makeDueNow'>;
  workflows: Pick<WorkflowCancellation, 'cancelShown'>;
  access: WorkspaceAccess;
  stopInRuntime: CancelRuntimeTurn;
}

export interface StopService {
  /**
   * Stops a reply by its message id, all replies to a user message, a sub-agent's task by its delegation id, or the
   * workflow that a message shows. A running turn ends soon and keeps its text so far; a queued one ends immediately. A
   * turn that waits for sub-agents ends when they have stopped.
   *
   * @throws ApiError `message_not_found`, `turn_not_running`
   */
  stop(userId: string, workspaceId: string, messageId: string): Promise<void>;
  /** Stops an agent's turns, which need not belong together. Ignores turns that have ended. */
  stopAll(turnIds: readonly string[]): Promise<void>;
}

/** The turn may have ended in the meantime. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== 'turn_not_running') throw error;
}

/** Long enough to store how the turn ended. */
const LEASE_MS = 10_000;

export function createStopService(deps: StopServiceDeps): StopService {
  const { withTransaction, database, messages, turns, jobs, access } = deps;

  /** @returns the unfinished turns, last one first, so that stopping one does not start the next */
  async function requireTurns(workspaceId: string, messageId: string): Promise<TurnRow[]> {
    const [message] = await messages.findMessages(database, [messageId]);
    if (message?.workspace_id !== workspaceId) throw new ApiError('message_not_found');
    const turnsOfMessage = await turns.findTurnsOfMessage(database, workspaceId, messageId);
    const unfinished = turnsOfMessage.filter(isUnfinished);
    const waiting = await markWaiting(turnsOfMessage.filter((turn) => !isUnfinished(turn)));
    const all = [...unfinished, ...waiting];
    if (all.length === 0) throw new ApiError('turn_not_running');
    return all.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** Marks suspended turns that wait for a sub-agent or are tasks, so that none continues when a sub-agent stops. */
  async function markWaiting(ended: readonly TurnRow[]): Promise<TurnRow[]> {
    const waiting: TurnRow[] = [];
    await withTransaction(async (tx) => {
      for (const turn of ended) {
        const isOpen =
          (await deps.delegations.findDelegationOfTurn(tx, turn.id)) ??
          (await deps.delegations.findOpenDelegations(tx, turn.id))[0];
        if (isOpen === undefined) continue;
        await turns.requestStop(tx, turn.id);
        waiting.push(turn);
      }
    });
    return waiting;
  }

  /** Ends the turn together with its sub-agents. */
  async function stopSuspended(turn: TurnRow): Promise<void> {
    const tasks = await withTransaction(async (tx) => {
      await turns.requestStop(tx, turn.id);
      return deps.delegations.findOpenDelegations(tx, turn.id);
    });
    for (const { turnId } of tasks) {
      const task = await turns.getTurn(database, turnId);
      if (task !== undefined) await stopTree(task).catch(ignoreEnded);
    }
    // The turn waits for the user, or all its sub-agents were suspended.
    await withTransaction((tx) => deps.tasks.stopSuspended(turn.id, tx));
  }

  const stopTree = (turn: TurnRow): Promise<void> => (isUnfinished(turn) ? stopTurn(turn) : stopSuspended(turn));

  /** @returns a queued turn's lease; undefined if the turn runs and its stop was requested */
  async function claimOrRequestStop({ id }: TurnRow, tx: Transaction): Promise<LeasedJob | undefined> {
    // The lock is held when a turn begins or ends, so the status below is final.
    const exists = await jobs.lock(TURN_JOB, id, tx);
    const status = await turns.getTurnStatus(tx, id);
    if (!exists || (status !== 'queued' && status !== 'running')) throw new ApiError('turn_not_running');
    if (status === 'queued') return jobs.takeOver(TURN_JOB, id, LEASE_MS, tx);
    await turns.requestStop(tx, id);
    return undefined;
  }

  async function endQueued(turn: TurnRow, lease: LeasedJob): Promise<void> {
    await createTurnWriter(deps, turn, lease).abandon('stopped', STOPPED_SENTENCE, 'stopped');
  }

  /** @throws ApiError `turn_not_running` */
  async function stopTurn(turn: TurnRow): Promise<void> {
    const lease = await withTransaction((tx) => claimOrRequestStop(turn, tx));
    if (lease !== undefined) {
      await endQueued(turn, lease).catch((error: unknown) => {
        // A concurrent stop request took over the lease.
        if (!(error instanceof LeaseLost)) throw error;
      });
      return;
    }
    deps.stopInRuntime(turn.workspace_id, turn);
    await jobs.makeDueNow(TURN_JOB, turn.workspace_id);
  }

  return {
    async stop(userId, workspaceId, messageId) {
      await access.require(userId, workspaceId);
      if (await deps.workflows.cancelShown(workspaceId, messageId)) return;
      let stopped = 0;
      for (const turn of await requireTurns(workspaceId, messageId)) {
        try {
          await stopTree(turn);
          stopped += 1;
        } catch (error) {
          ignoreEnded(error);
        }
      }
      if (stopped === 0) throw new ApiError('turn_not_running');
    },

    async stopAll(turnIds) {
      // Last one first, so that stopping one does not start the next.
      for (const id of turnIds.toSorted((a, b) => (a < b ? 1 : -1))) {
        const turn = await turns.getTurn(database, id);
        if (turn !== undefined) await stopTree(turn).catch(ignoreEnded);
      }
    },
  };
}
