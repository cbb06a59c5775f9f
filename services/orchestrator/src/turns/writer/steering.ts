import type { Transaction } from '../../platform/database/database.js';
import { TURN_JOB } from '../../records/turn-job.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type * as untrustedContentRecords from '../tools/untrusted-content.store.js';
import type * as turnRecords from '../turns.store.js';
import type { TurnRow } from '../turns.store.js';
import { REPLACED } from './turn-beginning.js';

interface SteeringDeps {
  turns: Pick<typeof turnRecords, 'findSteeringTurns' | 'endSteeringTurns'>;
  jobs: Pick<JobQueue, 'lockAll' | 'remove'>;
  events: Pick<EventLog, 'changeMessage'>;
  untrusted: Pick<typeof untrustedContentRecords, 'addUntrustedSources'>;
}

/**
 * Ends steering messages' queued turns, in the transaction that stores that the turn has read them. Messages whose turns
 * were stopped or deleted meanwhile are ignored.
 *
 * @returns a function that returns the sequence of its last event, or undefined without one
 */
export const createSteering =
  ({ turns, jobs, events, untrusted }: SteeringDeps, turn: TurnRow) =>
  async (messageIds: readonly string[], tx: Transaction): Promise<number | undefined> => {
    const ids = await turns.findSteeringTurns(tx, turn.id, messageIds);
    // Before the turns, as those who stop or delete them lock.
    await jobs.lockAll(TURN_JOB, ids, tx);
    const messages = await turns.endSteeringTurns(tx, turn.id, ids);
    await jobs.remove(TURN_JOB, ids, tx);
    if (messages.some(({ hasFiles }) => hasFiles)) await untrusted.addUntrustedSources(tx, turn, ['attachment']);
    const change = { status: 'read', errorCode: null, answeredWith: turn.in_reply_to } as const;
    let last: number | undefined;
    for (const { id } of messages) {
      const changed = {
        workspaceId: turn.workspace_id,
        id,
        change,
        from: REPLACED.read,
        types: ['message.updated'],
      } as const;
      last = (await events.changeMessage(changed, tx))?.at(-1) ?? last;
    }
    return last;
  };
