import { ApiError, LIMITS, type Schedule, type ScheduleRun, type TriggerRun } from '@uswarm/contract';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import type { SchedulesTable } from '../platform/database/tables.js';
import { type ListPosition, listPosition } from './list-cursor.js';
import { READER } from './users.store.js';

/** Of the advisory lock on an owner's schedules. */
const LOCK_SEED = 6;

/** All statements that write `schedules` and `schedule_runs`, of which triggers are a part. */

/** Columns that schedules and triggers have in common. */
export interface RunnableRow {
  id: string;
  workspace_id: string;
  agent_id: string;
  conversation_id: string | null;
  title: string;
  prompt: string;
  status: Schedule['status'];
  paused_by: 'user' | 'failures' | null;
  /** Null for a trigger. */
  next_at: Date | null;
  failures: number;
  token_limit: number | null;
  /** Null for a schedule. */
  secret_hash: Buffer | null;
  created_at: Date;
  updated_at: Date;
}

export interface ScheduleRow extends RunnableRow {
  /** A local time. */
  start_time: string;
  rrule: string | null;
  time_zone: string;
}

export interface TriggerRow extends RunnableRow {
  secret_hash: Buffer;
}

export interface ScheduleRunRow {
  id: string;
  schedule_id: string;
  due_at: Date;
  is_manual: boolean;
  status: ScheduleRun['status'] | TriggerRun['status'];
  message_id: string | null;
  error_code: string | null;
  total_tokens: number;
  cost_micros: number;
  started_at: Date;
  finished_at: Date | null;
}

type Stamps = 'created_at' | 'updated_at';
export type NewSchedule = Omit<ScheduleRow, Stamps | 'secret_hash'>;
export type NewTrigger = Omit<TriggerRow, Stamps | 'next_at' | 'conversation_id'>;
export type NewScheduleRun = Pick<ScheduleRunRow, 'id' | 'schedule_id' | 'due_at' | 'is_manual' | 'error_code'> & {
  status: 'running' | 'failed' | 'skipped';
};

/** Set by users and agents. */
export type RunnableChange = Partial<
  Pick<RunnableRow, 'title' | 'prompt' | 'agent_id' | 'token_limit'> & Pick<TriggerRow, 'secret_hash'>
>;
export type ScheduleChange = Omit<RunnableChange, 'secret_hash'> &
  Partial<Pick<ScheduleRow, 'start_time' | 'rrule' | 'time_zone'>>;

/** As `schedule-state.ts` decides it. */
export type StoredState = Pick<ScheduleRow, 'status' | 'paused_by' | 'next_at' | 'failures'>;

/** A turn of run `r` works, or other agents work for it. */
const IS_WORKING = sql<boolean>`EXISTS (
  SELECT FROM turns t WHERE t.schedule_run_id = r.id AND (
    t.status IN ('queued', 'running')
    OR EXISTS (SELECT FROM delegations d WHERE d.parent_turn_id = t.id AND d.status = 'running')
  )
)`;
/** Run `r` waits for the user. */
const IS_WAITING = sql<boolean>`EXISTS (
  SELECT FROM turns t JOIN tool_approvals a ON a.turn_id = t.id WHERE t.schedule_run_id = r.id AND a.status = 'open'
)`;

/** A run whose turns were deleted, or whose card was closed, has stopped although no turn has stored it. */
const RUN_COLUMNS = sql`r.id, r.schedule_id, r.due_at, r.is_manual, r.message_id, r.error_code, r.total_tokens, r.cost_micros,
  r.started_at, r.finished_at,
  CASE WHEN r.status <> 'running' OR ${IS_WORKING} THEN r.status WHEN ${IS_WAITING} THEN 'waiting' ELSE 'stopped' END AS status`;

export async function insertSchedule(db: Database, schedule: NewSchedule | NewTrigger): Promise<void> {
  await db.insertInto('schedules').values(schedule).execute();
}

const runnables = (db: Database, workspaceId: string) =>
  db.selectFrom('schedules').selectAll().where('workspace_id', '=', workspaceId);

const schedules = (db: Database, workspaceId: string) => runnables(db, workspaceId).where('secret_hash', 'is', null);

const triggers = (db: Database, workspaceId: string) => runnables(db, workspaceId).where('secret_hash', 'is not', null);

export function findSchedule(db: Database, workspaceId: string, id: string): Promise<ScheduleRow | undefined> {
  return schedules(db, workspaceId).where('id', '=', id).$castTo<ScheduleRow>().executeTakeFirst();
}

export function findTrigger(db: Database, workspaceId: string, id: string): Promise<TriggerRow | undefined> {
  return triggers(db, workspaceId).where('id', '=', id).$castTo<TriggerRow>().executeTakeFirst();
}

/** Of an imported workspace. */
export async function restoreSchedules(db: Database, rows: readonly Insertable<SchedulesTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('schedules').values(rows).execute();
}

/** Call it after the workspace is locked. */
export function lockSchedule(db: Database, workspaceId: string, id: string): Promise<ScheduleRow | undefined> {
  return schedules(db, workspaceId).where('id', '=', id).forUpdate().$castTo<ScheduleRow>().executeTakeFirst();
}

/** As `lockSchedule`. A request that queues a run needs no workspace lock. */
export function lockTrigger(db: Database, workspaceId: string, id: string): Promise<TriggerRow | undefined> {
  return triggers(db, workspaceId).where('id', '=', id).forUpdate().$castTo<TriggerRow>().executeTakeFirst();
}

/** A schedule or a trigger. */
export function lockRunnable(db: Database, workspaceId: string, id: string): Promise<RunnableRow | undefined> {
  return runnables(db, workspaceId).where('id', '=', id).forUpdate().executeTakeFirst();
}

export type ListedRow<Row extends RunnableRow> = Row & { position: ListPosition };

interface ListRange {
  limit: number;
  after?: ListPosition | undefined;
}

function listed<Row extends RunnableRow>(
  query: ReturnType<typeof runnables>,
  { limit, after }: ListRange,
): Promise<ListedRow<Row>[]> {
  const page = query
    .select(listPosition('created_at', 'id').as('position'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit);
  const range =
    after === undefined
      ? page
      : page.where(sql<boolean>`(created_at, id) < (${after.time}::timestamptz, ${after.key}::uuid)`);
  return range.$castTo<ListedRow<Row>>().execute();
}

export const listSchedules = (db: Database, workspaceId: string, range: ListRange) =>
  listed<ScheduleRow>(schedules(db, workspaceId), range);

export const listTriggers = (db: Database, workspaceId: string, range: ListRange) =>
  listed<TriggerRow>(triggers(db, workspaceId), range);

/**
 * Call it before a schedule or trigger is stored: concurrent calls for an owner wait for this transaction.
 *
 * @param limit active and paused ones in all workspaces of the owner
 * @throws ApiError `schedule_limit_reached`
 */
export async function requireRoom(tx: Transaction, workspaceId: string, limit: number): Promise<void> {
  await sql`
    SELECT pg_advisory_xact_lock(hashtextextended(owner_id::text, ${LOCK_SEED})) FROM workspaces WHERE id = ${workspaceId}`.execute(
    tx,
  );
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::int AS count FROM schedules s JOIN workspaces w ON w.id = s.workspace_id
    WHERE s.status <> 'finished' AND w.owner_id = (SELECT owner_id FROM workspaces WHERE id = ${workspaceId})`.execute(
    tx,
  );
  if ((rows[0]?.count ?? 0) >= limit) throw new ApiError('schedule_limit_reached');
}

/** Deletes the oldest finished schedules, and keeps the others. */
export async function pruneFinished(db: Database, workspaceId: string): Promise<void> {
  await sql`
    DELETE FROM schedules WHERE id IN (
      SELECT id FROM schedules WHERE workspace_id = ${workspaceId} AND status = 'finished'
      ORDER BY created_at DESC, id DESC OFFSET ${LIMITS.finishedSchedulesKept}
    )`.execute(db);
}

export async function changeSchedule(
  db: Database,
  id: string,
  change: (ScheduleChange | RunnableChange) & Partial<StoredState>,
): Promise<void> {
  await db
    .updateTable('schedules')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

export async function setScheduleState(db: Database, id: string, state: StoredState): Promise<void> {
  await db.updateTable('schedules').set(state).where('id', '=', id).execute();
}

export async function setScheduleConversation(db: Database, id: string, conversationId: string): Promise<void> {
  await db.updateTable('schedules').set({ conversation_id: conversationId }).where('id', '=', id).execute();
}

export async function deleteSchedule(db: Database, id: string): Promise<void> {
  await db.deleteFrom('schedules').where('id', '=', id).execute();
}

/** A CTE that makes room for a run. Those that are queued or running are the newest. */
const prunedRuns = (scheduleId: string): RawBuilder<unknown> => sql`
  pruned AS (
    DELETE FROM schedule_runs WHERE id IN (
      SELECT id FROM schedule_runs WHERE schedule_id = ${scheduleId}
      ORDER BY due_at DESC OFFSET ${LIMITS.scheduleRunsKept - 1}
    )
  )`;

/** @returns false if the schedule has a run for this time */
export async function insertRun(db: Database, run: NewScheduleRun): Promise<boolean> {
  const isOpen = run.status === 'running';
  const { rows } = await sql`
    WITH ${prunedRuns(run.schedule_id)}
    INSERT INTO schedule_runs (id, schedule_id, due_at, is_manual, status, error_code, finished_at)
    VALUES (${run.id}, ${run.schedule_id}, ${run.due_at}, ${run.is_manual}, ${run.status}, ${run.error_code},
      CASE WHEN NOT ${isOpen}::boolean THEN now() END)
    ON CONFLICT (schedule_id, due_at) DO NOTHING RETURNING id`.execute(db);
  return rows.length === 1;
}

export interface RunBody {
  name: string;
  bytes: Buffer;
}

/**
 * Queues a run of a locked trigger.
 *
 * @returns false if as many as possible are queued
 */
export async function queueRun(
  db: Database,
  { id, triggerId, body }: { id: string; triggerId: string; body: RunBody | undefined },
): Promise<boolean> {
  const { rows } = await sql`
    WITH ${prunedRuns(triggerId)}
    INSERT INTO schedule_runs (id, schedule_id, due_at, status, body, body_name)
    SELECT ${id}, ${triggerId}, clock_timestamp(), 'queued', ${body?.bytes ?? null}, ${body?.name ?? null}
    WHERE (
      SELECT count(*) FROM schedule_runs WHERE schedule_id = ${triggerId} AND status = 'queued'
    ) < ${LIMITS.triggerRunsQueued}
    RETURNING id`.execute(db);
  return rows.length === 1;
}

/** The one that begins next. */
export async function findQueuedRun(
  db: Database,
  triggerId: string,
): Promise<{ id: string; body: RunBody | undefined } | undefined> {
  const row = await db
    .selectFrom('schedule_runs')
    .select(['id', 'body', 'body_name'])
    .where('schedule_id', '=', triggerId)
    .where('status', '=', 'queued')
    .orderBy('due_at')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { id, body: bytes, body_name: name } = row;
  return { id, body: bytes === null || name === null ? undefined : { bytes, name } };
}

/** @returns false if it is not queued any more */
export async function leaveQueue(db: Database, id: string, failure: string | undefined): Promise<boolean> {
  const { rows } = await sql`
    UPDATE schedule_runs SET body = NULL, body_name = NULL, started_at = now(), error_code = ${failure ?? null},
      status = CASE WHEN ${failure === undefined}::boolean THEN 'running' ELSE 'failed' END,
      finished_at = CASE WHEN NOT ${failure === undefined}::boolean THEN now() END
    WHERE id = ${id} AND status = 'queued' RETURNING id`.execute(db);
  return rows.length === 1;
}

export async function setRunMessage(db: Database, id: string, messageId: string): Promise<void> {
  await db.updateTable('schedule_runs').set({ message_id: messageId }).where('id', '=', id).execute();
}

/** Stores outcome and usage. @returns its schedule; undefined if it has ended before */
export async function endRun(
  db: Database,
  id: string,
  { status, errorCode }: { status: 'completed' | 'failed' | 'stopped'; errorCode: string | null },
): Promise<string | undefined> {
  const { rows } = await sql<{ scheduleId: string }>`
    UPDATE schedule_runs r SET status = ${status}, error_code = ${errorCode}, finished_at = now(),
      total_tokens = used.tokens, cost_micros = used.cost
    FROM (${usageOfRun(id)}) used
    WHERE r.id = ${id} AND r.status = 'running'
    RETURNING r.schedule_id AS "scheduleId"`.execute(db);
  return rows[0]?.scheduleId;
}

/** Of its turns, and of their tasks. */
const usageOfRun = (runId: string): RawBuilder<unknown> => sql`
  SELECT coalesce(sum(u.prompt_tokens + u.completion_tokens), 0) AS tokens, coalesce(sum(u.cost_micros), 0) AS cost
  FROM usage_entries u WHERE u.turn_id IN (
    SELECT coalesce(t.first_turn_id, t.id) FROM turns t
    WHERE t.user_message_id IN (SELECT user_message_id FROM turns WHERE schedule_run_id = ${runId})
  )`;

/** Ends runs without a turn. @returns true if another run works or waits */
export async function closeDeadRuns(db: Database, scheduleId: string): Promise<boolean> {
  const { rows } = await sql<{ isLive: boolean }>`
    WITH open AS (
      SELECT r.id, ${IS_WORKING} OR ${IS_WAITING} AS live FROM schedule_runs r
      WHERE r.schedule_id = ${scheduleId} AND r.status = 'running'
    ), closed AS (
      UPDATE schedule_runs SET status = 'stopped', finished_at = now() WHERE id IN (SELECT id FROM open WHERE NOT live)
    )
    SELECT coalesce(bool_or(live), false) AS "isLive" FROM open`.execute(db);
  return rows[0]?.isLive === true;
}

/** Newest first. */
export async function listRuns(db: Database, scheduleId: string): Promise<ScheduleRunRow[]> {
  const { rows } = await sql<ScheduleRunRow>`
    SELECT ${RUN_COLUMNS} FROM schedule_runs r WHERE r.schedule_id = ${scheduleId}
    ORDER BY r.due_at DESC LIMIT ${LIMITS.scheduleRunsKept}`.execute(db);
  return rows;
}

/** By schedule. */
export async function findLastRuns(db: Database, scheduleIds: readonly string[]): Promise<Map<string, ScheduleRunRow>> {
  const { rows } = await sql<ScheduleRunRow>`
    SELECT r.* FROM unnest(${[...scheduleIds]}::uuid[]) AS s (id) CROSS JOIN LATERAL (
      SELECT ${RUN_COLUMNS} FROM schedule_runs r WHERE r.schedule_id = s.id ORDER BY r.due_at DESC LIMIT 1
    ) r`.execute(db);
  return new Map(rows.map((row) => [row.schedule_id, row]));
}

export async function findScheduleOwner(
  db: Database,
  workspaceId: string,
): Promise<{ userId: string; isBanned: boolean; timeZone: string } | undefined> {
  const { rows } = await sql<{ userId: string; isBanned: boolean; timeZone: string }>`
    SELECT u.id AS "userId", u.is_banned AS "isBanned", ${READER} ->> 'time_zone' AS "timeZone"
    FROM workspaces w JOIN users u ON u.id = w.owner_id WHERE w.id = ${workspaceId}`.execute(db);
  return rows[0];
}

/** True if the message began a run. Tasks that a run gives are about its message, too. */
export async function isScheduled(db: Database, messageId: string): Promise<boolean> {
  const origin = sql<string>`coalesce(schedule_id, trigger_id)`;
  const row = await db
    .selectFrom('messages')
    .select('id')
    .where('id', '=', messageId)
    .where(origin, 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}
