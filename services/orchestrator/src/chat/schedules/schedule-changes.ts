import { createHash } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Transaction } from '../../platform/database/database.js';
import { definedFields } from '../../platform/http/defined-fields.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import { SCHEDULE_JOB } from '../../records/schedule-job.js';
import {
  changeSchedule,
  deleteSchedule,
  insertSchedule,
  lockSchedule,
  pruneFinished,
  requireRoom,
  type ScheduleChange,
  type ScheduleRow,
} from '../../records/schedule-rows.js';
import { type ScheduleEvent, type ScheduleState, step } from '../../turns/schedules/schedule-state.js';
import { stateOf, stored } from '../../turns/schedules/stored-state.js';
import { type GivenTimes, nextOf, plannedTimes } from './schedule-times.js';

export interface ScheduleLimits {
  /** Active and paused ones. */
  perUser: number;
  /** Least seconds between two runs. */
  intervalS: number;
  /** A recurring schedule starts within these seconds after its time. */
  spreadS: number;
}

export interface ScheduleChangesDeps {
  jobs: Pick<JobQueue, 'enqueue' | 'lock' | 'remove'>;
  events: Pick<EventLog, 'lock'>;
  clock: Clock;
  limits: ScheduleLimits;
}

export interface WantedSchedule extends GivenTimes {
  id: string;
  workspaceId: string;
  agentId: string;
  title: string;
  prompt: string;
  tokenLimit: number | null;
}

/** Absent fields stay as they are. */
export type SchedulePatch = {
  [Field in 'title' | 'prompt' | 'agent_id' | 'token_limit']?: ScheduleRow[Field] | undefined;
} & { [Field in keyof GivenTimes]?: GivenTimes[Field] | undefined };

/** Changes by users and agents, each in the caller's transaction. */
export interface ScheduleChanges {
  /** @throws ApiError `schedule_limit_reached` @throws InvalidTimes */
  create(wanted: WantedSchedule, tx: Transaction): Promise<void>;
  /** @throws ApiError `schedule_not_found`, `schedule_limit_reached` @throws InvalidTimes */
  change(workspaceId: string, id: string, patch: SchedulePatch, tx: Transaction): Promise<void>;
  /** @throws ApiError `schedule_not_found`, `schedule_limit_reached` */
  pause(workspaceId: string, id: string, tx: Transaction): Promise<void>;
  /** @throws ApiError `schedule_not_found` */
  resume(workspaceId: string, id: string, tx: Transaction): Promise<void>;
  /** @throws ApiError `schedule_not_found` */
  remove(workspaceId: string, id: string, tx: Transaction): Promise<void>;
  /** Enqueues the job for the next time; it has none while the schedule is not active. */
  plan(
    schedule: Pick<ScheduleRow, 'id' | 'workspace_id' | 'rrule'>,
    state: ScheduleState,
    tx: Transaction,
  ): Promise<void>;
}

/** The same for each run of a schedule, so that runs keep their distance. */
function offsetMs(id: string, spreadS: number): number {
  return spreadS === 0 ? 0 : createHash('sha256').update(id).digest().readUInt32BE(0) % (spreadS * 1_000);
}

export function createScheduleChanges({ jobs, events, clock, limits }: ScheduleChangesDeps): ScheduleChanges {
  const now = (): number => clock.now().getTime();

  /** Lock order everywhere: job, runtime, workspace, schedule. */
  async function lock(workspaceId: string, id: string, tx: Transaction): Promise<ScheduleRow> {
    await jobs.lock(SCHEDULE_JOB, id, tx);
    await events.lock(workspaceId, tx);
    const row = await lockSchedule(tx, workspaceId, id);
    if (row === undefined) throw new ApiError('schedule_not_found');
    return row;
  }

  async function plan(
    { id, workspace_id: workspaceId, rrule }: Pick<ScheduleRow, 'id' | 'workspace_id' | 'rrule'>,
    { nextAt }: ScheduleState,
    tx: Transaction,
  ): Promise<void> {
    if (nextAt === null) return jobs.remove(SCHEDULE_JOB, [id], tx);
    const startAt = nextAt + (rrule === null ? 0 : offsetMs(id, limits.spreadS));
    await jobs.enqueue({ kind: SCHEDULE_JOB, subjectId: id, workspaceId, dueInMs: Math.max(0, startAt - now()) }, tx);
  }

  async function apply(row: ScheduleRow, event: ScheduleEvent, change: ScheduleChange, tx: Transaction): Promise<void> {
    const { state } = step(stateOf(row), event);
    await changeSchedule(tx, row.id, { ...change, ...stored(state) });
    await plan({ ...row, ...change }, state, tx);
  }

  return {
    async create({ id, workspaceId, agentId, title, prompt, tokenLimit, ...given }, tx) {
      const { recurrence, next } = plannedTimes(given, now(), limits.intervalS);
      const { startTime: start_time, rrule, timeZone: time_zone } = recurrence;
      await events.lock(workspaceId, tx);
      await requireRoom(tx, workspaceId, limits.perUser);
      await pruneFinished(tx, workspaceId);
      const state: ScheduleState = { status: 'active', nextAt: next, failures: 0, pausedBy: null };
      const schedule = {
        id,
        workspace_id: workspaceId,
        agent_id: agentId,
        title,
        prompt,
        start_time,
        rrule,
        time_zone,
      };
      await insertSchedule(tx, { ...schedule, conversation_id: null, token_limit: tokenLimit, ...stored(state) });
      await plan(schedule, state, tx);
    },

    async change(workspaceId, id, { start_time, rrule, time_zone, ...given }, tx) {
      const change = definedFields(given);
      const row = await lock(workspaceId, id, tx);
      if (start_time === undefined && rrule === undefined && time_zone === undefined)
        return changeSchedule(tx, id, { ...change, ...stored(stateOf(row)) });
      const times = {
        start_time: start_time ?? row.start_time,
        rrule: rrule === undefined ? row.rrule : rrule,
        time_zone: time_zone ?? row.time_zone,
      };
      const { recurrence, next } = plannedTimes(times, now(), limits.intervalS);
      if (row.status === 'finished') await requireRoom(tx, workspaceId, limits.perUser);
      const { startTime, timeZone } = recurrence;
      const changed = { ...change, start_time: startTime, rrule: recurrence.rrule, time_zone: timeZone };
      await apply(row, { type: 'changed', next }, changed, tx);
    },

    async pause(workspaceId, id, tx) {
      await apply(await lock(workspaceId, id, tx), { type: 'pause' }, {}, tx);
    },

    async resume(workspaceId, id, tx) {
      const row = await lock(workspaceId, id, tx);
      await apply(row, { type: 'resume', next: nextOf(row, now()) }, {}, tx);
    },

    async remove(workspaceId, id, tx) {
      await lock(workspaceId, id, tx);
      await jobs.remove(SCHEDULE_JOB, [id], tx);
      await deleteSchedule(tx, id);
    },

    plan,
  };
}
