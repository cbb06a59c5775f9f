import { randomUUIDv7 } from 'node:crypto';
import {
  ApiError,
  type CreateTriggerBody,
  type Trigger,
  type TriggerPage,
  type TriggerRun,
  type TriggerWithUrl,
  type UpdateTriggerBody,
} from '@uswarm/contract';
import type { Database, Transaction } from '../../platform/database/database.js';
import { definedFields } from '../../platform/http/defined-fields.js';
import { requiredLine } from '../../platform/http/visible-text.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { EventLog } from '../../records/event-log.js';
import type { ListCursorCodec } from '../../records/list-cursor.js';
import {
  changeSchedule,
  deleteSchedule,
  findQueuedRun,
  findTrigger,
  insertSchedule,
  listRuns,
  listTriggers,
  requireRoom,
  type TriggerRow,
} from '../../records/schedule-rows.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import { findSigned } from '../../records/trigger-secrets.store.js';
import { type ScheduleEvent, step } from '../../turns/schedules/schedule-state.js';
import { stateOf, stored } from '../../turns/schedules/stored-state.js';
import { checkedAgent, checkedTitle, type PageQuery, pageOf } from '../schedules/runnables.js';
import {
  createTriggerAccess,
  recordTrigger,
  type TriggerAccessDeps,
  type TriggerPath,
  viewTrigger,
} from './trigger-access.js';
import { createTriggerSecrets, type TriggerSecrets, type TriggerSecretsDeps } from './trigger-secrets.js';
import { triggerRunView, triggerView } from './trigger-view.js';
import { hashOfSecret, newUrlSecret, TRIGGER_PATH } from './url-secret.js';

export interface TriggerServiceDeps extends TriggerAccessDeps, Pick<TriggerSecretsDeps, 'cipher'> {
  database: Database;
  jobs: Pick<JobQueue, 'enqueue' | 'lock' | 'remove'>;
  events: Pick<EventLog, 'lock'>;
  cursors: ListCursorCodec;
  /** Of the API; empty if it is unknown. */
  baseUrl: string;
  /** Active and paused schedules and triggers. */
  perUser: number;
}

/** All methods throw ApiError `triggers_not_enabled`, `workspace_not_found`, and those with an id `trigger_not_found`. */
export interface TriggerService extends TriggerSecrets {
  /** Newest first, bounded by the response size. @throws ApiError `cursor_invalid` */
  list(userId: string, workspaceId: string, query: PageQuery): Promise<TriggerPage>;
  /** @throws ApiError `agent_not_found`, `schedule_limit_reached`, `validation_failed` */
  create(userId: string, workspaceId: string, body: CreateTriggerBody): Promise<TriggerWithUrl>;
  get(path: TriggerPath): Promise<Trigger>;
  /** @throws ApiError `agent_not_found`, `validation_failed` */
  update(path: TriggerPath, patch: UpdateTriggerBody): Promise<Trigger>;
  remove(path: TriggerPath): Promise<void>;
  pause(path: TriggerPath): Promise<Trigger>;
  resume(path: TriggerPath): Promise<Trigger>;
  /** Newest first. */
  runs(path: TriggerPath): Promise<TriggerRun[]>;
}

export function createTriggerService(deps: TriggerServiceDeps): TriggerService {
  const { withTransaction, database, jobs, cursors } = deps;
  const access = createTriggerAccess(deps);
  const urlOf = (secret: string): string => `${deps.baseUrl}${TRIGGER_PATH}/${secret}`;

  const apply = (row: TriggerRow, event: ScheduleEvent, tx: Transaction): Promise<void> =>
    changeSchedule(tx, row.id, stored(step(stateOf(row), event).state));

  async function listed(workspaceId: string, range: Parameters<typeof listTriggers>[2]) {
    const rows = await listTriggers(database, workspaceId, range);
    const signed = await findSigned(
      database,
      rows.map(({ id }) => id),
    );
    return rows.map((row) => ({ ...row, isSigned: signed.has(row.id) }));
  }

  return {
    async list(userId, workspaceId, query) {
      await access.requireWorkspace({ userId, workspaceId });
      return pageOf<TriggerRow & { isSigned: boolean }, Trigger>(
        {
          database,
          cursors,
          scope: [userId, workspaceId],
          readRows: (range) => listed(workspaceId, range),
          view: (row, lastRun) => triggerView(row, { lastRun, isSigned: row.isSigned }),
        },
        query,
      );
    },

    async create(userId, workspaceId, { prompt, title, agent_id, token_limit }) {
      await access.requireWorkspace({ userId, workspaceId });
      const path = { userId, workspaceId, id: randomUUIDv7() };
      const secret = newUrlSecret();
      const trigger = {
        id: path.id,
        workspace_id: workspaceId,
        agent_id: await checkedAgent(database, workspaceId, agent_id),
        title: checkedTitle(title, prompt),
        prompt,
        token_limit: token_limit ?? null,
        secret_hash: hashOfSecret(secret),
        status: 'active',
        paused_by: null,
        failures: 0,
      } as const;
      return withTransaction(async (tx) => {
        await deps.events.lock(workspaceId, tx);
        await requireRoom(tx, workspaceId, deps.perUser);
        await insertSchedule(tx, trigger);
        await recordTrigger(path, 'create', tx);
        return { ...(await viewTrigger(tx, path)), url: urlOf(secret) };
      });
    },

    async get(path) {
      await access.requireWorkspace(path);
      return viewTrigger(database, path);
    },

    async update(path, { title, agent_id, ...given }) {
      const change = {
        ...definedFields(given),
        ...(title === undefined ? {} : { title: requiredLine('title', title) }),
      };
      return access.withTrigger(path, async ({ id }, tx) => {
        const agent = agent_id === undefined ? {} : { agent_id: await checkedAgent(tx, path.workspaceId, agent_id) };
        await changeSchedule(tx, id, { ...change, ...agent });
        return viewTrigger(tx, path);
      });
    },

    remove: (path) =>
      access.withTrigger(path, async ({ id }, tx) => {
        await jobs.remove(TRIGGER_JOB, [id], tx);
        await deleteSchedule(tx, id);
        await recordTrigger(path, 'delete', tx);
      }),

    pause: (path) =>
      access.withTrigger(path, async (row, tx) => {
        await apply(row, { type: 'pause' }, tx);
        return viewTrigger(tx, path);
      }),

    resume: (path) =>
      access.withTrigger(path, async (row, tx) => {
        await apply(row, { type: 'reopen' }, tx);
        if ((await findQueuedRun(tx, row.id)) !== undefined)
          await jobs.enqueue({ kind: TRIGGER_JOB, subjectId: row.id, workspaceId: path.workspaceId }, tx);
        return viewTrigger(tx, path);
      }),

    ...createTriggerSecrets({ access, urlOf, cipher: deps.cipher }),

    async runs(path) {
      await access.requireWorkspace(path);
      const { workspaceId, id } = path;
      if ((await findTrigger(database, workspaceId, id)) === undefined) throw new ApiError('trigger_not_found');
      return (await listRuns(database, id)).map(triggerRunView);
    },
  };
}
