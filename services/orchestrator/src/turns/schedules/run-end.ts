import { LIMITS } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { endRun, lockRunnable, type RunnableRow, setScheduleState } from '../../records/schedule-rows.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import { type SystemMessage, tellUser } from '../../records/system-message.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import { type RunOutcome, step } from './schedule-state.js';
import { stateOf, stored } from './stored-state.js';

export interface OutcomeDeps {
  events: Pick<EventLog, 'addMessage'>;
  push: Pick<PushJobs, 'announce'>;
}

export interface RunEndDeps extends OutcomeDeps {
  events: Pick<EventLog, 'lock' | 'addMessage'>;
  jobs: Pick<JobQueue, 'tryMakeDueNow'>;
}

type EndStatus = Exclude<TurnStatus, 'queued' | 'running'>;

const OUTCOMES: Record<EndStatus, RunOutcome> = {
  done: 'completed',
  failed: 'failed',
  stopped: 'stopped',
};

const pauseNote = ({ title, secret_hash: secret }: RunnableRow): string =>
  `The ${secret === null ? 'schedule' : 'trigger'} “${title}” is paused, because ${LIMITS.scheduleFailures} runs in a row have failed. Resume it when the cause is fixed.`;

/** Counts a run's outcome, and tells the user if the schedule pauses. The workspace and the schedule are locked. */
export async function countOutcome(
  { events, push }: OutcomeDeps,
  schedule: RunnableRow,
  outcome: RunOutcome,
  place: Pick<SystemMessage, 'turn'> & { conversationId: string | null },
  tx: Transaction,
): Promise<void> {
  const { state, effects } = step(stateOf(schedule), { type: 'run ended', outcome });
  await setScheduleState(tx, schedule.id, stored(state));
  if (effects.length === 0) return;
  const { workspace_id: workspaceId } = schedule;
  const note = await tellUser({ events }, { workspaceId, ...place, text: pauseNote(schedule) }, tx);
  if (note !== undefined) await push.announce({ messageId: note.id, workspaceId, seq: note.seq }, tx);
}

/** Call it in the transaction that ends the run's turn, before agents are locked. */
export async function endScheduleRun(
  deps: RunEndDeps,
  turn: Pick<TurnRow, 'id' | 'workspace_id' | 'conversation_id'> & { runId: string },
  { turnStatus, errorCode }: { turnStatus: EndStatus; errorCode: string | null },
  tx: Transaction,
): Promise<void> {
  const { id, workspace_id: workspaceId, conversation_id: conversationId, runId } = turn;
  await deps.events.lock(workspaceId, tx);
  const outcome = OUTCOMES[turnStatus];
  const scheduleId = await endRun(tx, runId, { status: outcome, errorCode: outcome === 'failed' ? errorCode : null });
  const schedule = scheduleId === undefined ? undefined : await lockRunnable(tx, workspaceId, scheduleId);
  if (schedule === undefined) return;
  await countOutcome(deps, schedule, outcome, { conversationId, turn: { id, key: 'schedule-paused' } }, tx);
  // If the job is locked, it checks again soon.
  if (schedule.secret_hash !== null) await deps.jobs.tryMakeDueNow(TRIGGER_JOB, schedule.id, tx);
}
