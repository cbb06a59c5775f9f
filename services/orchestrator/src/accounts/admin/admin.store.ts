import type { AdminTurn, AdminTurnStatus } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import { traceIdOf } from '../../records/turn-rows.js';
import type { Database } from '../../platform/database/database.js';
import { isId } from '../../platform/database/id.js';
import type { StoredPlan } from '../../metering/plans.js';

export interface FoundUser extends StoredPlan {
  id: string;
  email: string;
  name: string;
  issuer: string;
  subject: string;
  is_banned: boolean;
  accepted_terms_version: string | null;
  accepted_privacy_version: string | null;
  created_at: Date;
}

export interface FoundWorkspace {
  id: string;
  name: string;
  owner_id: string;
  created_at: Date;
  desired: string | null;
  phase: string | null;
  reason: string | null;
  verified: boolean | null;
  failures: number | null;
  identified_at: Date | null;
  agents: number;
  conversations: number;
  messages: number;
  queued: number;
  running: number;
  failed: number;
}

export interface TurnFilter {
  status: AdminTurnStatus | undefined;
  workspaceId: string | undefined;
  olderThanSeconds: number;
  limit: number;
}

const MAX_FOUND_USERS = 20;

async function findUsers(db: Database, condition: RawBuilder<unknown>): Promise<FoundUser[]> {
  const { rows } = await sql<FoundUser>`
    SELECT id, email, name, issuer, subject, is_banned, plan_code, plan_expires_at,
      accepted_terms_version, accepted_privacy_version, created_at
    FROM users WHERE ${condition} ORDER BY created_at LIMIT ${MAX_FOUND_USERS}`.execute(db);
  return rows;
}

/** Matches the id, else the e-mail address, else the identity provider uid. */
export async function findUsersByText(db: Database, text: string): Promise<FoundUser[]> {
  if (isId(text)) return findUsers(db, sql`id = ${text}`);
  const byEmail = await findUsers(db, sql`lower(email) = lower(${text}) AND email <> ''`);
  return byEmail.length > 0 ? byEmail : findUsers(db, sql`subject = ${text}`);
}

export function findWorkspacesOf(
  db: Database,
  userId: string,
): Promise<{ id: string; name: string; phase: string | null }[]> {
  return db
    .selectFrom('workspaces as w')
    .leftJoin('runtimes as r', 'r.workspace_id', 'w.id')
    .select(['w.id', 'w.name', 'r.phase'])
    .where('w.owner_id', '=', userId)
    .orderBy('w.created_at')
    .execute();
}

export async function findWorkspaceOfAdmin(db: Database, workspaceId: string): Promise<FoundWorkspace | undefined> {
  const { rows } = await sql<FoundWorkspace>`
    SELECT w.id, w.name, w.owner_id, w.created_at,
      r.desired, r.phase, r.reason, r.verified, r.failures, r.identified_at,
      (SELECT count(*) FROM agents WHERE workspace_id = w.id AND deleted_at IS NULL) AS agents,
      (SELECT count(*) FROM conversations WHERE workspace_id = w.id) AS conversations,
      (SELECT count(*) FROM messages WHERE workspace_id = w.id) AS messages,
      t.queued, t.running, t.failed
    FROM workspaces w
    LEFT JOIN runtimes r ON r.workspace_id = w.id
    CROSS JOIN LATERAL (
      SELECT count(*) FILTER (WHERE status = 'queued') AS queued,
        count(*) FILTER (WHERE status = 'running') AS running,
        count(*) FILTER (WHERE status = 'failed') AS failed
      FROM turns WHERE workspace_id = w.id
    ) t
    WHERE w.id = ${workspaceId}`.execute(db);
  return rows[0];
}

/** Queued and running turns, oldest first. With status `failed`: failed turns, newest first. */
export async function findAdminTurns(db: Database, filter: TurnFilter): Promise<AdminTurn[]> {
  const { rows } = await sql<AdminTurn>`
    SELECT t.id, t.workspace_id, t.conversation_id, t.status, t.generation, t.error_code,
      ${traceIdOf('t')} AS trace_id,
      extract(epoch FROM now() - t.created_at)::float8 AS age_s,
      coalesce(w.lease_expires_at > now(), false) AS leased,
      coalesce(w.failures, 0) AS failures
    ${filter.status === 'failed' ? FAILED : ACTIVE}
      AND t.created_at <= now() - ${filter.olderThanSeconds} * interval '1 second'
      AND ${filter.workspaceId === undefined ? sql`true` : sql`t.workspace_id = ${filter.workspaceId}`}
      AND ${filter.status === undefined ? sql`true` : sql`t.status = ${filter.status}`}
    ORDER BY ${filter.status === 'failed' ? sql`t.finished_at DESC` : sql`t.created_at`}
    LIMIT ${filter.limit}`.execute(db);
  return rows;
}

export interface TracedTurn {
  id: string;
  workspace_id: string;
  conversation_id: string;
  owner_id: string;
}

/** By turn id, else a workspace's newest turn. */
export async function findTracedTurn(db: Database, id: string): Promise<TracedTurn | undefined> {
  const found = (condition: RawBuilder<unknown>) =>
    sql<TracedTurn>`
      SELECT t.id, t.workspace_id, t.conversation_id, w.owner_id
      FROM turns t JOIN workspaces w ON w.id = t.workspace_id
      WHERE ${condition} ORDER BY t.created_at DESC LIMIT 1`.execute(db);
  const { rows } = await found(sql`t.id = ${id}`);
  return rows[0] ?? (await found(sql`t.workspace_id = ${id}`)).rows[0];
}

/** Active turns have a job. The job table stays small however many turns there are. */
const ACTIVE = sql`FROM work w JOIN turns t ON t.id = w.subject_id WHERE w.kind = 'turn'`;
const FAILED = sql`
  FROM turns t LEFT JOIN work w ON w.kind = 'turn' AND w.subject_id = t.id
  WHERE t.status = 'failed'`;
