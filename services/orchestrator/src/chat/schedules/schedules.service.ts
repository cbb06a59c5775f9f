import { randomUUIDv7 } from 'node:crypto';
import {
  ApiError,
  type CreateScheduleBody,
  type Schedule,
  type SchedulePage,
  type ScheduleRun,
  type UpdateScheduleBody,
} from '@uswarm/contract';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import { requiredLine } from '../../platform/http/visible-text.js';
import { type Idempotency, type KeyOwner, keyWithoutResult } from '../../platform/idempotency/idempotency.service.js';
import type { RateLimits } from '../../platform/rate-limits/rate-limits.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import {
  findLastRuns,
  findSchedule,
  findScheduleOwner,
  listRuns,
  listSchedules,
  type ScheduleRow,
} from '../../records/schedule-rows.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import { checkedAgent, checkedTitle, type PageQuery, pageOf } from './runnables.js';
import type { ScheduleChanges, SchedulePatch } from './schedule-changes.js';
import type { ScheduleRuns } from './schedule-runs.js';
import { InvalidTimes } from './schedule-times.js';
import { runView, scheduleView } from './schedule-view.js';

export interface ScheduleServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  access: WorkspaceAccess;
  idempotency: Pick<Idempotency, 'once'>;
  rates: Pick<RateLimits, 'send'>;
  cursors: ListCursorCodec;
  changes: ScheduleChanges;
  runs: Pick<ScheduleRuns, 'runNow'>;
  /** False if the operator turned schedules off. */
  isEnabled: boolean;
}

/** All methods throw ApiError `schedules_not_enabled`, `workspace_not_found`, and the errors noted. */
export interface ScheduleService {
  /** Newest first, bounded by the response size. @throws ApiError `cursor_invalid` */
  list(userId: string, workspaceId: string, query: PageQuery): Promise<SchedulePage>;
  /** @throws ApiError `agent_not_found`, `schedule_limit_reached`, `validation_failed`, `idempotency_key_reused` */
  create(owner: KeyOwner, workspaceId: string, body: CreateScheduleBody): Promise<Schedule>;
  /** @throws ApiError `schedule_not_found` */
  get(userId: string, workspaceId: string, id: string): Promise<Schedule>;
  /** @throws ApiError `schedule_not_found`, `agent_not_found`, `schedule_limit_reached`, `validation_failed` */
  update(userId: string, workspaceId: string, id: string, patch: UpdateScheduleBody): Promise<Schedule>;
  /** @throws ApiError `schedule_not_found` */
  remove(userId: string, workspaceId: string, id: string): Promise<void>;
  /** @throws ApiError `schedule_not_found` */
  pause(userId: string, workspaceId: string, id: string): Promise<Schedule>;
  /** @throws ApiError `schedule_not_found` */
  resume(userId: string, workspaceId: string, id: string): Promise<Schedule>;
  /** @throws ApiError `schedule_not_found`, `schedule_running`, and as sending a message */
  run(userId: string, workspaceId: string, id: string): Promise<ScheduleRun>;
  /** Newest first. @throws ApiError `schedule_not_found` */
  runs(userId: string, workspaceId: string, id: string): Promise<ScheduleRun[]>;
}

/** @throws ApiError `validation_failed` for times that cannot be used */
async function withFieldErrors<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof InvalidTimes)) throw error;
    throw new ApiError('validation_failed', { extra: { fields: [{ path: error.field, message: error.message }] } });
  }
}

export function createScheduleService(deps: ScheduleServiceDeps): ScheduleService {
  const { withTransaction, database, access, changes, cursors } = deps;

  async function requireWorkspace(userId: string, workspaceId: string): Promise<void> {
    if (!deps.isEnabled) throw new ApiError('schedules_not_enabled');
    await access.require(userId, workspaceId);
  }

  async function require(userId: string, workspaceId: string, id: string): Promise<ScheduleRow> {
    await requireWorkspace(userId, workspaceId);
    const row = await findSchedule(database, workspaceId, id);
    if (row === undefined) throw new ApiError('schedule_not_found');
    return row;
  }

  async function read(workspaceId: string, id: string): Promise<Schedule | undefined> {
    const row = await findSchedule(database, workspaceId, id);
    return row && scheduleView(row, (await findLastRuns(database, [id])).get(id));
  }

  async function change(
    userId: string,
    workspaceId: string,
    id: string,
    write: (tx: Transaction) => Promise<void>,
  ): Promise<Schedule> {
    await requireWorkspace(userId, workspaceId);
    await withFieldErrors(() => withTransaction(write));
    const changed = await read(workspaceId, id);
    if (changed === undefined) throw new ApiError('schedule_not_found');
    return changed;
  }

  return {
    async list(userId, workspaceId, query) {
      await requireWorkspace(userId, workspaceId);
      const scope = [userId, workspaceId];
      const readRows = (range: Parameters<typeof listSchedules>[2]) => listSchedules(database, workspaceId, range);
      return pageOf({ database, cursors, scope, readRows, view: scheduleView }, query);
    },

    async create(owner, workspaceId, { prompt, title, start_time, rrule, time_zone, agent_id, token_limit }) {
      await requireWorkspace(owner.userId, workspaceId);
      const agentId = await checkedAgent(database, workspaceId, agent_id);
      const zone = time_zone ?? (await findScheduleOwner(database, workspaceId))?.timeZone ?? '';
      const wanted = {
        workspaceId,
        agentId,
        prompt,
        title: checkedTitle(title, prompt),
        start_time,
        rrule: rrule ?? null,
        time_zone: zone === '' ? 'UTC' : zone,
        tokenLimit: token_limit ?? null,
      };
      const request = { ...owner, operation: 'createSchedule', content: { ...wanted, time_zone } } as const;
      const id = await deps.idempotency.once(request, (claim) =>
        withFieldErrors(() =>
          withTransaction(async (tx) => {
            const newId = randomUUIDv7();
            await claim(newId, tx);
            await changes.create({ id: newId, ...wanted }, tx);
            return newId;
          }),
        ),
      );
      const created = await read(workspaceId, id);
      if (created === undefined) throw keyWithoutResult();
      return created;
    },

    async get(userId, workspaceId, id) {
      const row = await require(userId, workspaceId, id);
      return scheduleView(row, (await findLastRuns(database, [id])).get(id));
    },

    async update(userId, workspaceId, id, { title, agent_id, ...given }) {
      await require(userId, workspaceId, id);
      const patch: SchedulePatch = {
        ...given,
        ...(title === undefined ? {} : { title: requiredLine('title', title) }),
        ...(agent_id === undefined ? {} : { agent_id: await checkedAgent(database, workspaceId, agent_id) }),
      };
      return change(userId, workspaceId, id, (tx) => changes.change(workspaceId, id, patch, tx));
    },

    async remove(userId, workspaceId, id) {
      await requireWorkspace(userId, workspaceId);
      await withTransaction((tx) => changes.remove(workspaceId, id, tx));
    },

    pause: (userId, workspaceId, id) => change(userId, workspaceId, id, (tx) => changes.pause(workspaceId, id, tx)),
    resume: (userId, workspaceId, id) => change(userId, workspaceId, id, (tx) => changes.resume(workspaceId, id, tx)),

    async run(userId, workspaceId, id) {
      await require(userId, workspaceId, id);
      await deps.rates.send(userId);
      const runId = await deps.runs.runNow(workspaceId, id);
      const run = (await listRuns(database, id)).find((one) => one.id === runId);
      if (run === undefined) throw new ApiError('schedule_not_found');
      return runView(run);
    },

    async runs(userId, workspaceId, id) {
      await require(userId, workspaceId, id);
      return (await listRuns(database, id)).map(runView);
    },
  };
}
