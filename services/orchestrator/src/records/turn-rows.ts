import { type RawBuilder, sql } from 'kysely';
import { currentTraceparent } from '@uswarm/service-kit';
import type { Database } from '../platform/database/database.js';
import { inMs } from '../platform/database/in-ms.js';
import type { AgentActivity, TurnStatus } from '../platform/database/schema.js';
import { heldLease, insertJobs, type LeasedJob } from '../platform/jobs/job-queue.js';
import { moveApprovals } from './approvals.store.js';
import { answersUser } from './answers-user.js';
import { moveCards } from './message-rows.js';
import { TURN_JOB } from './turn-job.js';
import {
  deleteContextAndCalls,
  deleteEntries,
  deleteProgress,
  insertContext,
  insertTasks,
  moveParts,
} from './turn-part-rows.js';

/** All statements that write `turns`. */

export interface NewTurn {
  id: string;
  workspaceId: string;
  conversationId: string;
  agentId: string;
  userMessageId: string;
  /** The turn can repeat calls since this message. Default: `userMessageId` */
  repeatsFromMessageId?: string | null | undefined;
  /** The schedule's run that it works on. */
  scheduleRunId?: string | null | undefined;
}

export interface NewTask {
  workspaceId: string;
  conversationId: string;
  userId: string;
  agentId: string;
  /** Led to the task. */
  userMessageId: string;
  /** Shows the task. Its id stops the turn. */
  messageId: string;
  /** The only message that the agent receives. */
  prompt: string;
  /** 1, or one more than in the turn that gives the task. */
  depth: number;
  /** Tokens; null without a limit. */
  budget: number | null;
}

/** The process that runs a turn. */
export interface TurnProcess {
  id: string;
  /** True if the runtime can suspend the turn because of its budget. Otherwise the turn has none. */
  budgeted: boolean;
  /** Stored unless the turn already has a context. */
  context?: object | undefined;
}

/** From its `traceparent`: version, trace id, span id and flags. */
export const traceIdOf = (turn: string): RawBuilder<string | null> =>
  sql`split_part(${sql.ref(`${turn}.traceparent`)}, '-', 2)`;

export const queuedTurnsOf = (conversationId: RawBuilder<unknown>): RawBuilder<number> => sql<number>`(
  SELECT count(*) FROM turns t WHERE t.conversation_id = ${conversationId} AND t.status IN ('queued', 'running')
    AND ${answersUser('t.id')}
)`;

/** Inserts a turn for each row in `messages`, which has a turn's columns, and the message as `subject_id`. */
export const insertTurns = (messages: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO turns (id, workspace_id, conversation_id, agent_id, user_message_id, steers, traceparent)
  SELECT turn_id, workspace_id, conversation_id, agent_id, subject_id, steers, traceparent FROM ${messages}`;

/** The turn continues the trace of the code that inserts it. */
const traced = (): RawBuilder<unknown> => sql`${currentTraceparent() ?? null}::text`;

/** @returns false if the conversation already has `most` queued or running turns */
export async function insertTurn(db: Database, turn: NewTurn, most: number): Promise<boolean> {
  const { rows: inserted } = await sql`
    INSERT INTO turns
      (id, workspace_id, conversation_id, agent_id, user_message_id, repeats_from_message_id, schedule_run_id, traceparent)
    SELECT ${turn.id}, ${turn.workspaceId}, ${turn.conversationId}, ${turn.agentId}, ${turn.userMessageId},
      ${turn.repeatsFromMessageId ?? null}::uuid, ${turn.scheduleRunId ?? null}::uuid, ${traced()}
    WHERE ${queuedTurnsOf(sql`${turn.conversationId}`)} < ${most}
    RETURNING id`.execute(db);
  return inserted.length === 1;
}

export async function insertTask(db: Database, id: string, task: NewTask): Promise<void> {
  await sql`
    WITH turn AS (
      INSERT INTO turns
        (id, workspace_id, conversation_id, agent_id, user_message_id, reply_message_id, tokens_budget, traceparent)
      VALUES (${id}, ${task.workspaceId}, ${task.conversationId}, ${task.agentId}, ${task.userMessageId},
        ${task.messageId}, ${task.budget}, ${traced()})
      RETURNING id
    )
    ${insertTasks(sql`SELECT id, ${task.depth}, ${task.prompt} FROM turn`)}`.execute(db);
}

/** Makes a message's queued turns work on a schedule's run. @param budget tokens; null for the default */
export async function assignRun(
  db: Database,
  messageId: string,
  { runId, budget }: { runId: string; budget: number | null },
): Promise<void> {
  await db
    .updateTable('turns')
    .set({ schedule_run_id: runId, tokens_budget: budget })
    .where('user_message_id', '=', messageId)
    .execute();
}

/** Requires the alias `t`: see `isStopRequested`. */
const MUST_END = sql<boolean>`
  t.stop_requested OR (SELECT u.is_banned FROM workspaces w JOIN users u ON u.id = w.owner_id WHERE w.id = t.workspace_id)`;

/** How long a turn shows its last activity. */
const ACTIVITY = sql`interval '2 minutes'`;
const activityColumns = (activity: AgentActivity | null): RawBuilder<unknown> => sql`
  activity = ${activity}::text, activity_until = CASE WHEN ${activity}::text IS NOT NULL THEN now() + ${ACTIVITY} END`;

/** Locks the agent of the turn that this CTE has changed. Messages and turns that reference the agent need not wait. */
const lockAgentOf = (turn: RawBuilder<unknown>, columns = sql``): RawBuilder<unknown> => sql`
  SELECT ${columns} FROM agents a WHERE a.id = (SELECT agent_id FROM ${turn}) FOR NO KEY UPDATE`;

export interface StartedTurn {
  replyId: string;
  /** Tokens that the turn may use, unless it continues another one; null without a limit. */
  budget: number | null;
  activity?: AgentActivity;
  instance?: TurnProcess | undefined;
}

/**
 * Marks the turn as running, and locks its agent, so that the agent's status can be derived.
 *
 * @returns true if the turn must end: see `stopRequested`
 */
export async function startTurn(
  db: Database,
  id: string,
  { replyId, budget, activity, instance }: StartedTurn,
): Promise<{ stopRequested: boolean } | undefined> {
  const { context } = instance ?? {};
  const tokens = sql`coalesce(t.tokens_budget, ${budget}::bigint)`;
  // A background turn can be stopped while it is queued.
  const { rows: started } = await sql<{ stopRequested: boolean }>`
    WITH turn AS (
      UPDATE turns t SET status = 'running', reply_message_id = ${replyId}, started_at = now(),
        tokens_budget = ${instance?.budgeted === false ? sql`NULL` : tokens}, ${activityColumns(activity ?? null)},
        ${instance === undefined ? sql`` : sql`runtime_instance = ${instance.id},`}
        stop_requested = t.stop_requested AND EXISTS (SELECT FROM turn_tasks task WHERE task.turn_id = t.id)
      WHERE t.id = ${id} RETURNING t.id, t.agent_id, ${MUST_END} AS must_end
    )${context === undefined ? sql`` : sql`, context AS (${insertContext(context, sql`turn`)})`}
    ${lockAgentOf(sql`turn`, sql`(SELECT must_end FROM turn) AS "stopRequested"`)}`.execute(db);
  return started[0];
}

/** @returns undefined without the lease */
export async function setInstance(
  db: Database,
  job: LeasedJob,
  { id, budgeted, context }: TurnProcess,
): Promise<{ stopRequested: boolean } | undefined> {
  const turn = sql`(SELECT t.id, t.agent_id FROM held JOIN turns t ON t.id = held.subject_id)`;
  const stored = context === undefined ? sql`` : sql`, context AS (${insertContext(context, turn)})`;
  const { rows: updated } = await sql<{ stopRequested: boolean }>`
    WITH ${heldLease(job)}${stored}
    UPDATE turns t SET runtime_instance = ${id}, tokens_budget = CASE WHEN ${budgeted} THEN t.tokens_budget END
    FROM held WHERE t.id = held.subject_id
    RETURNING ${MUST_END} AS "stopRequested"`.execute(db);
  return updated[0];
}

/** @returns the new generation; undefined if the last `limit` generations added no journal entry */
export async function nextGeneration(db: Database, id: string, limit: number): Promise<number | undefined> {
  const row = await db
    .updateTable('turns')
    .set({ generation: sql<number>`generation + 1`, runtime_instance: null })
    .where('id', '=', id)
    .where(
      sql<boolean>`generation - ${limit} < greatest(
        waited_generation, (SELECT max(e.generation) FROM turn_entries e WHERE e.turn_id = turns.id)
      )`,
    )
    .returning('generation')
    .executeTakeFirst();
  return row?.generation;
}

/** Begins the next generation, which runs after this delay. */
export async function postponeTurn(db: Database, id: string, waitMs: number): Promise<void> {
  await db
    .updateTable('turns')
    .set({
      generation: sql<number>`generation + 1`,
      waited_generation: sql<number>`generation`,
      runtime_instance: null,
      waits_until: inMs(waitMs),
    })
    .where('id', '=', id)
    .execute();
}

export async function requestStop(db: Database, id: string): Promise<void> {
  await db.updateTable('turns').set({ stop_requested: true }).where('id', '=', id).execute();
}

/** Also locks the turn's agent. */
export async function setTurnActivity(db: Database, id: string, activity: AgentActivity | null): Promise<void> {
  await sql`
    WITH turn AS (
      UPDATE turns SET ${activityColumns(activity)} WHERE id = ${id} RETURNING agent_id
    )
    ${lockAgentOf(sql`turn`)}`.execute(db);
}

/** Of the running turn in the CTE `held`. */
export const setTurnWriting = sql`
  UPDATE turns t SET activity = 'writing', activity_until = now() + ${ACTIVITY}
  FROM held WHERE t.id = held.subject_id AND t.status = 'running' RETURNING t.agent_id, t.activity_until`;

/** Takes the turn's reply away if it is still loading, so that another message can use its place. */
export const takeLoadingReply = (turnId: string): RawBuilder<unknown> => sql`
  UPDATE turns t SET reply_message_id = NULL FROM counter, messages m
  WHERE t.id = ${turnId} AND m.id = t.reply_message_id AND m.content ->> 'type' = 'loading'
  RETURNING m.id`;

/** `budgets` has the columns `id` and `used`. */
export const grantTokens = (turnId: string, tokens: number): RawBuilder<unknown> => sql`
  UPDATE turns t SET tokens_budget = ${tokens} + budgets.used
  FROM budgets WHERE t.id = ${turnId} AND budgets.id = t.id`;

/** Queues a failed turn again. @returns false if it did not fail */
export async function reopenTurn(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql`
    WITH reopened AS (
      UPDATE turns SET status = 'queued', reply_message_id = NULL, runtime_instance = NULL, error_code = NULL,
        started_at = NULL, finished_at = NULL, waits_until = NULL, shown_entries = 0, generation = generation + 1
      WHERE id = ${id} AND status = 'failed'
      RETURNING id, workspace_id, conversation_id, user_message_id
    ), entries AS (
      -- The outcomes of its calls are deleted: a call without a result in the journal would be executed a second time.
      ${deleteEntries(sql`t.id IN (SELECT id FROM reopened)`)}
    )
    ${insertJobs(
      TURN_JOB,
      sql`
        SELECT r.id, r.workspace_id, r.conversation_id, m.seq, w.owner_id
        FROM reopened r JOIN messages m ON m.id = r.user_message_id
        JOIN workspaces w ON w.id = r.workspace_id`,
    )}
    RETURNING subject_id`.execute(db);
  return rows.length === 1;
}

export async function deleteTurns(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db
    .deleteFrom('turns')
    .where('id', 'in', [...ids])
    .execute();
}

export interface TurnEnd {
  status: TurnStatus;
  errorCode: string | null;
  /** Locks the turn's agent, so that its status can be derived. No other rows may be locked afterwards. */
  locksAgent?: boolean;
}

export interface Unfinished {
  /** True if tool lines are running, or calls to other systems have no outcome. */
  tools: boolean;
  /** True if approvals exist that no decision has closed. */
  approvals: boolean;
  /** True if other agents may work on the turn's tasks. */
  tasks: boolean;
  /** The reply, unless a message has taken its place. */
  replyId: string | null;
}

export const nothingUnfinished = (replyId: string | null): Unfinished => ({
  tools: false,
  approvals: false,
  tasks: false,
  replyId,
});

/** Also deletes the context and the tool calls. The journal is kept for later turns. */
export async function finishTurn(
  db: Database,
  id: string,
  { status, errorCode, locksAgent = false }: TurnEnd,
): Promise<void> {
  const turn = sql`
    UPDATE turns SET status = ${status}, error_code = ${errorCode}, finished_at = now() WHERE id = ${id} RETURNING agent_id`;
  // The journal stays, unless it continues a turn whose message was deleted in the meantime.
  const deleted = sql`t.id = ${id} AND t.shown_entries > 0 AND t.resumes_message_id IS NULL`;
  await sql`
    WITH entries AS (${deleteEntries(deleted)}), ${deleteContextAndCalls(sql`turn_id = ${id}`)},
      progress AS (${deleteProgress(id)})
    ${locksAgent ? sql`, turn AS (${turn}) ${lockAgentOf(sql`turn`)}` : turn}`.execute(db);
}

/** Requires the turn's lease: nothing is added meanwhile. */
export async function unfinishedOf(db: Database, id: string): Promise<Unfinished> {
  const { rows: found } = await sql<Unfinished>`
        SELECT EXISTS (SELECT FROM receipts WHERE turn_id = ${id} AND status = 'sent') OR EXISTS (
          SELECT FROM messages WHERE turn_id = ${id} AND turn_key IS NOT NULL AND content ->> 'state' = 'running'
        ) AS tools,
        EXISTS (SELECT FROM tool_approvals WHERE turn_id = ${id}) AS approvals,
        EXISTS (SELECT FROM delegations WHERE parent_turn_id = ${id}) AS tasks,
        (SELECT reply_message_id FROM turns WHERE id = ${id}) AS "replyId"`.execute(db);
  return found[0] ?? { tools: true, approvals: true, tasks: true, replyId: null };
}

export async function setReply(db: Database, id: string, replyId: string): Promise<void> {
  await sql`UPDATE turns SET reply_message_id = ${replyId} WHERE id = ${id}`.execute(db);
}

/** Ends a queued turn without an answer, because the next one answers its message, too. @returns that turn's message; undefined if it is not queued */
export async function mergeTurn(db: Database, id: string, intoId: string): Promise<string | undefined> {
  const { rows: merged } = await sql<{ messageId: string }>`
    WITH later AS MATERIALIZED (SELECT id, user_message_id FROM turns WHERE id = ${intoId} AND status = 'queued' FOR UPDATE)
    UPDATE turns t SET status = CASE WHEN t.id = ${id} THEN 'done' ELSE t.status END, merged_into_turn_id = later.id,
      finished_at = CASE WHEN t.id = ${id} THEN now() ELSE t.finished_at END
    FROM later WHERE t.id = ${id} OR t.merged_into_turn_id = ${id}
    RETURNING later.user_message_id AS "messageId"`.execute(db);
  return merged[0]?.messageId;
}

/** Turn `s` waits for its message to steer turn `t`. */
const STEERING = sql.raw(`s.conversation_id = t.conversation_id AND s.agent_id = t.agent_id AND s.id <> t.id
  AND s.status = 'queued' AND s.steers AND NOT s.stop_requested`);

/** Finds steering messages' queued turns. */
export async function findSteeringTurns(
  db: Database,
  turnId: string,
  messageIds: readonly string[],
): Promise<string[]> {
  const { rows: found } = await sql<{ id: string }>`
    SELECT s.id FROM turns t JOIN turns s ON ${STEERING}
    WHERE t.id = ${turnId} AND s.user_message_id = ANY(${[...messageIds]}::uuid[])`.execute(db);
  return found.map(({ id }) => id);
}

export interface SteeringMessage {
  id: string;
  hasFiles: boolean;
}

/** Ends queued turns whose messages steer a turn. The caller has locked their jobs. @returns the messages */
export async function endSteeringTurns(
  db: Database,
  turnId: string,
  ids: readonly string[],
): Promise<SteeringMessage[]> {
  const { rows: ended } = await sql<SteeringMessage>`
    UPDATE turns s SET status = 'done', finished_at = now(), merged_into_turn_id = t.id
    FROM turns t, messages m
    WHERE t.id = ${turnId} AND s.id = ANY(${[...ids]}::uuid[]) AND ${STEERING} AND m.id = s.user_message_id
    RETURNING m.id, m.attachments <> '[]' AS "hasFiles"`.execute(db);
  return ended;
}

/** Messages that steer a running turn, as `m`, whether it has read them or not. */
export const steeringMessages = (turnId: string, answeredId: string): RawBuilder<unknown> => sql`
  FROM (
    SELECT s.user_message_id AS id FROM turns t JOIN turns s ON ${STEERING} WHERE t.id = ${turnId}
    UNION SELECT user_message_id FROM turns WHERE merged_into_turn_id = ${turnId}
  ) steering JOIN messages m ON m.id = steering.id
  WHERE m.seq > (SELECT seq FROM messages WHERE id = ${answeredId})`;

/** Ends a turn that waits for the user. Another turn can resume it. */
export async function suspendTurn(db: Database, id: string): Promise<void> {
  await sql`
    WITH progress AS (${deleteProgress(id)})
    UPDATE turns SET status = 'done', finished_at = now() WHERE id = ${id}`.execute(db);
}

/**
 * Lets a turn continue a suspended one, with its budget: moves journal, context, tool calls, approvals and open cards to it.
 *
 * @throws Error if the suspended turn has no context
 */
export async function moveTurnParts(db: Database, id: string, suspendedId: string): Promise<void> {
  const { rows: resumed } = await sql<{ contexts: number }>`
    WITH ${moveParts(suspendedId, id)}, approvals AS (${moveApprovals(suspendedId, id)}), cards AS (
        ${moveCards(sql`SELECT card_message_id FROM approvals WHERE status = 'open'`, id)}
      ), merged AS (
        UPDATE turns SET merged_into_turn_id = ${id} WHERE merged_into_turn_id = ${suspendedId}
      ), tasks AS (
        -- The suspended turn stays a background turn: it wrote messages.
        ${insertTasks(sql`SELECT ${id}::uuid, depth, prompt FROM turn_tasks WHERE turn_id = ${suspendedId}`)} RETURNING turn_id
      )
    UPDATE turns t SET shown_entries = (SELECT count(*) FROM entries), tokens_budget = suspended.tokens_budget,
      reply_message_id = CASE WHEN EXISTS (SELECT FROM tasks) THEN suspended.reply_message_id END,
      first_turn_id = coalesce(suspended.first_turn_id, suspended.id),
      resumes_message_id = coalesce(suspended.resumes_message_id, suspended.user_message_id),
      repeats_from_message_id = suspended.repeats_from_message_id, schedule_run_id = suspended.schedule_run_id,
      traceparent = coalesce(suspended.traceparent, t.traceparent)
    FROM turns suspended WHERE t.id = ${id} AND suspended.id = ${suspendedId}
    RETURNING (SELECT count(*) FROM contexts) AS contexts`.execute(db);
  // The turn would start from the beginning and repeat the calls.
  if ((resumed[0]?.contexts ?? 0) === 0) throw new Error('the suspended turn has no context');
}
