import type { MessageContent, MessageRole, MessageStatus } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { InternalPhase } from '../platform/database/schema.js';
import { WORKSPACE_UNREAD } from '../records/unread.js';
import { removeOldestMessages } from '../records/message-rows.js';

export interface WorkspaceRow {
  id: string;
  name: string;
  owner_name: string;
  last_seq: number;
  rev: number;
  agents_rev: number;
  created_at: Date;
  updated_at: Date;
  phase: InternalPhase | null;
  verified: boolean | null;
  silent_since: Date | null;
  total_agents: number;
  unread_count: number;
  last_content: MessageContent | null;
  last_created_at: Date | null;
  last_role: MessageRole | null;
  last_status: MessageStatus | null;
  last_error_code: string | null;
  /** Name of the agent that sent the last message, if an agent did. */
  last_agent: string | null;
}

/** One statement for any number of workspaces: a lateral join reads the last message from an index. */
function workspaceRows(db: Database, where: ReturnType<typeof sql>) {
  return sql<WorkspaceRow>`
    SELECT w.id, w.name, w.last_seq, w.rev, w.agents_rev, w.created_at, w.updated_at, r.phase, r.verified, r.silent_since,
      coalesce(nullif(u.nickname, ''), u.name) AS owner_name,
      (SELECT count(*) FROM agents a WHERE a.workspace_id = w.id AND a.deleted_at IS NULL) AS total_agents,
      ${WORKSPACE_UNREAD} AS unread_count,
      last.content AS last_content, last.created_at AS last_created_at, last.role AS last_role,
      last.agent AS last_agent, last.status AS last_status, last.error_code AS last_error_code
    FROM workspaces w
    JOIN users u ON u.id = w.owner_id
    LEFT JOIN runtimes r ON r.workspace_id = w.id
    LEFT JOIN LATERAL (
      SELECT m.content, m.created_at, m.role, m.status, m.error_code, a.name AS agent
      FROM messages m
      LEFT JOIN agents a ON a.id = m.agent_id
      WHERE m.workspace_id = w.id AND m.content ->> 'type' NOT IN ('loading', 'tool_status')
      ORDER BY m.seq DESC
      LIMIT 1
    ) last ON (true)
    WHERE ${where}
    ORDER BY w.created_at, w.id`.execute(db);
}

/** Messages deleted per statement, which has a deadline. */
const DELETION_BATCH = 2_000;

/** Conversations without a title, which show the workspace's name. */
export async function findNamedConversations(db: Database, workspaceId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('conversations')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('title', 'is', null)
    .where('agent_id', 'is', null)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes all messages in batches, because a statement has a deadline. One transaction: no client sees a part. */
export async function removeMessages(db: Database, workspaceId: string): Promise<void> {
  while ((await removeOldestMessages(db, workspaceId, DELETION_BATCH)) === DELETION_BATCH);
}

export async function isWorkspaceOwnedBy(db: Database, workspaceId: string, userId: string): Promise<boolean> {
  const row = await db
    .selectFrom('workspaces')
    .select('id')
    .where('id', '=', workspaceId)
    .where('owner_id', '=', userId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function listOwnedWorkspaces(db: Database, userId: string): Promise<WorkspaceRow[]> {
  return (await workspaceRows(db, sql`w.owner_id = ${userId}`)).rows;
}

export async function findOwnedWorkspace(
  db: Database,
  workspaceId: string,
  userId: string,
): Promise<WorkspaceRow | undefined> {
  return (await workspaceRows(db, sql`w.id = ${workspaceId} AND w.owner_id = ${userId}`)).rows[0];
}

/** Without an ownership check. Used for events. */
export async function findWorkspaces(db: Database, workspaceIds: readonly string[]): Promise<WorkspaceRow[]> {
  return workspaceIds.length === 0 ? [] : (await workspaceRows(db, sql`w.id = ANY(${[...workspaceIds]}::uuid[])`)).rows;
}
