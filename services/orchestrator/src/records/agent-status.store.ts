import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';
import { heldLease, type LeasedJob } from '../platform/jobs/job-queue.js';
import { OPEN_CARD } from './message-changes.store.js';
import { setTurnWriting } from './turn-rows.js';
import { setAgentWriting, setDerivedActivities } from './agent-rows.js';

export const currentActivity = (alias: string): RawBuilder<AgentActivity> => sql<AgentActivity>`
  CASE WHEN ${sql.ref(`${alias}.activity_until`)} > now() THEN ${sql.ref(`${alias}.activity`)} ELSE 'online' END`;

/** Milliseconds until the agent's status ends; null if it has no end, or has ended. */
export const expiresInMs = (alias: string): RawBuilder<number | null> => sql<number | null>`
  CASE WHEN ${sql.ref(`${alias}.activity_until`)} > now()
    THEN ceil(extract(epoch FROM ${sql.ref(`${alias}.activity_until`)} - now()) * 1000)::int END`;

export interface CurrentStatus {
  agentId: string;
  activity: AgentActivity;
  /** Null without an end. */
  expiresInMs: number | null;
}

export interface ChangedStatus extends CurrentStatus {
  workspaceId: string;
  /** The workspace's last seq. */
  seq: number;
  phase: InternalPhase | null;
  silentSince: Date | null;
}

/** One agent, or all agents in a workspace. */
export type AgentSelection = { agentId: string } | { workspaceId: string };

const selected = (selection: AgentSelection): RawBuilder<boolean> =>
  'agentId' in selection
    ? sql<boolean>`a.id = ${selection.agentId}`
    : sql<boolean>`a.workspace_id = ${selection.workspaceId}`;

/** How long an activity counts without a renewal. */
/** How long an agent shows that its last turn failed. */
const ERROR = sql`interval '5 minutes'`;
/** How long an agent waits for a choice on a card that no turn needs to continue. The card stays usable afterwards. */
const QUESTION = sql`interval '1 day'`;
/** Limit for the turns in which an agent's questions are looked for. */
const RECENT = sql.lit(20);

/** Waiting has no known end: it is derived again at these times. Rounded, so that a status rarely changes. */
const RUNNING_RECHECK = sql`date_trunc('minute', now()) + interval '10 minutes'`;
const SUSPENDED_RECHECK = sql`date_trunc('hour', now()) + interval '1 day'`;

/** Contributions by agent `a`'s turns to its status. A contribution no longer counts after its end. */
const CONTRIBUTIONS = sql`
  SELECT
    CASE WHEN t.activity_until > now() THEN t.activity ELSE 'pending' END AS activity,
    CASE WHEN t.activity_until > now() THEN t.activity_until ELSE ${RUNNING_RECHECK} END AS until
  FROM turns t WHERE t.agent_id = a.id AND t.status = 'running'
  UNION ALL
  -- Suspended turns, which wait for the user or for another agent, have a context, and so have queued turns that continue one.
  SELECT 'pending', ${SUSPENDED_RECHECK}
  FROM turn_contexts c JOIN turns t ON t.id = c.turn_id
  WHERE c.agent_id = a.id AND t.status <> 'running'
  UNION ALL
  SELECT 'pending', last.finished_at + ${QUESTION}
  FROM (SELECT DISTINCT ON (conversation_id) * FROM recent ORDER BY conversation_id, finished_at DESC, id DESC) last
  WHERE last.status = 'done' AND EXISTS (
    SELECT FROM messages card
    WHERE card.turn_id = last.id AND card.turn_key LIKE 'message:%' AND card.turn_key IS NOT NULL AND ${OPEN_CARD}
  )
  UNION ALL
  SELECT 'error', last.finished_at + ${ERROR}
  FROM (SELECT * FROM recent ORDER BY finished_at DESC, id DESC LIMIT 1) last WHERE last.status = 'failed'`;

/** Most active first. */
const PRECEDENCE = sql`array_position(ARRAY['writing', 'thinking', 'reading', 'pending', 'error'], activity)`;

const IMPLIED = sql`
  WITH recent AS MATERIALIZED (
    SELECT t.id, t.conversation_id, t.status, t.finished_at FROM turns t
    WHERE t.agent_id = a.id AND t.finished_at > now() - ${QUESTION}
    ORDER BY t.finished_at DESC, t.id DESC LIMIT ${RECENT}
  )
  SELECT activity, until FROM (${CONTRIBUTIONS}) contributions
  WHERE until > now() ORDER BY ${PRECEDENCE}, until DESC LIMIT 1`;

/** The same for an agent with a running turn that reads, thinks or writes, which precedes all other contributions. */
const IMPLIED_BY_ACTIVITY = sql`
  SELECT t.activity, t.activity_until AS until FROM turns t
  WHERE t.agent_id = a.id AND t.status = 'running' AND t.activity_until > now()
  ORDER BY ${PRECEDENCE}, until DESC LIMIT 1`;

/** Requires the aliases `c` (the changed agent), `w` (its workspace) and `r` (the runtime). */
const CHANGED_COLUMNS = sql`
  c.id AS "agentId", c.workspace_id AS "workspaceId", w.last_seq AS seq, c.activity,
  ${expiresInMs('c')} AS "expiresInMs", r.phase, r.silent_since AS "silentSince"`;

/** Stores implied statuses. @returns the changed ones */
async function change(
  db: Database,
  condition: RawBuilder<boolean>,
  implied: RawBuilder<unknown>,
): Promise<ChangedStatus[]> {
  const { rows } = await sql<ChangedStatus>`
    WITH derived AS MATERIALIZED (
      SELECT a.id, a.workspace_id, coalesce(best.activity, 'online') AS activity, best.until
      FROM agents a
      LEFT JOIN LATERAL (${implied}) best ON best.until > now()
      WHERE ${condition}
    ), changed AS (
      ${setDerivedActivities}
    )
    SELECT ${CHANGED_COLUMNS}
    FROM changed c JOIN workspaces w ON w.id = c.workspace_id
    LEFT JOIN runtimes r ON r.workspace_id = c.workspace_id
    ORDER BY c.id`.execute(db);
  return rows;
}

/**
 * Stores that a leased job's running turn writes, and its agent's status, which no other activity precedes.
 *
 * @returns the status if it has changed; undefined without the lease
 */
export async function setWriting(db: Database, job: LeasedJob): Promise<ChangedStatus[] | undefined> {
  const { rows } = await sql<Omit<ChangedStatus, 'agentId'> & { agentId: string | null }>`
    WITH ${heldLease(job)}, turn AS (
      ${setTurnWriting}
    ), c AS (
      ${setAgentWriting}
    )
    SELECT ${CHANGED_COLUMNS} FROM held LEFT JOIN (
      c JOIN workspaces w ON w.id = c.workspace_id LEFT JOIN runtimes r ON r.workspace_id = c.workspace_id
    ) ON true`.execute(db);
  return rows.length === 0 ? undefined : rows.filter((row): row is ChangedStatus => row.agentId !== null);
}

/** Locks agents in a fixed order. They come last in the lock order. */
export async function lockAgents(db: Database, agents: AgentSelection): Promise<void> {
  // Not FOR UPDATE: messages and turns that reference an agent need not wait.
  await sql`SELECT FROM agents a WHERE ${selected(agents)} ORDER BY a.id FOR NO KEY UPDATE`.execute(db);
}

/**
 * Derives agent statuses from their turns. Call it in a later statement than `lock`.
 *
 * @returns the changed statuses
 */
export function deriveStatuses(db: Database, agents: AgentSelection): Promise<ChangedStatus[]> {
  return change(db, selected(agents), IMPLIED);
}

/**
 * Like `derive`, for an agent with a running turn that reads, thinks or writes: only other such turns can matter
 * more.
 */
export function deriveActiveStatus(db: Database, agentId: string): Promise<ChangedStatus[]> {
  return change(db, selected({ agentId }), IMPLIED_BY_ACTIVITY);
}

/** Agents whose status has ended, earliest first. */
export async function listEndedStatuses(db: Database, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM agents WHERE activity_until <= now() ORDER BY activity_until LIMIT ${limit}`.execute(db);
  return rows.map(({ id }) => id);
}

/** Milliseconds until a status ends; undefined if none does. */
export async function findNextStatusEnd(db: Database): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number }>`
    SELECT ceil(extract(epoch FROM activity_until - now()) * 1000)::float8 AS ms
    FROM agents WHERE activity_until IS NOT NULL ORDER BY activity_until LIMIT 1`.execute(db);
  return rows[0]?.ms;
}
