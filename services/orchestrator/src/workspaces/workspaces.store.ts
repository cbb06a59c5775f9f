import type { MessageContent, MessageRole, MessageStatus } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { InternalPhase } from '../platform/database/schema.js';
import { WORKSPACE_UNREAD } from '../records/unread.js';
import { removeOldestMessages } from '../records/message-rows.js';
import { deleteWorkspace, insertWorkspace, renameWorkspace } from '../records/workspace-rows.js';

export interface WorkspaceRow {
  id: string;
  name: string;
  owner_name: string;
  last_seq: number;
  rev: number;
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

export interface WorkspaceStore {
  insert(workspace: { id: string; ownerId: string; name: string }, db: Database): Promise<void>;
  rename(workspaceId: string, name: string, db: Database): Promise<void>;
  /** Conversations without a title, which show the workspace's name. */
  namedConversations(workspaceId: string, db: Database): Promise<string[]>;
  /** Deletes all messages in batches, because a statement has a deadline. One transaction: no client sees a part. */
  removeMessages(workspaceId: string, db: Database): Promise<void>;
  /** Also deletes all rows that reference the workspace. */
  remove(workspaceId: string, db: Database): Promise<void>;
  isOwnedBy(workspaceId: string, userId: string): Promise<boolean>;
  listOwned(userId: string): Promise<WorkspaceRow[]>;
  findOwned(workspaceId: string, userId: string): Promise<WorkspaceRow | undefined>;
  /** Without an ownership check. Used for events. */
  findAll(workspaceIds: readonly string[], db?: Database): Promise<WorkspaceRow[]>;
}

/** One statement for any number of workspaces: a lateral join reads the last message from an index. */
function workspaceRows(db: Database, where: ReturnType<typeof sql>) {
  return sql<WorkspaceRow>`
    SELECT w.id, w.name, w.last_seq, w.rev, w.created_at, w.updated_at, r.phase, r.verified, r.silent_since,
      coalesce(nullif(u.nickname, ''), u.name) AS owner_name,
      (SELECT count(*) FROM agents a WHERE a.workspace_id = w.id) AS total_agents,
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

export function createWorkspaceStore(database: Database): WorkspaceStore {
  return {
    insert: insertWorkspace,
    rename: renameWorkspace,

    async namedConversations(workspaceId, db) {
      const rows = await db
        .selectFrom('conversations')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('title', 'is', null)
        .where('agent_id', 'is', null)
        .orderBy('id')
        .execute();
      return rows.map(({ id }) => id);
    },

    async removeMessages(workspaceId, db) {
      while ((await removeOldestMessages(workspaceId, DELETION_BATCH, db)) === DELETION_BATCH);
    },

    remove: deleteWorkspace,

    async isOwnedBy(workspaceId, userId) {
      const row = await database
        .selectFrom('workspaces')
        .select('id')
        .where('id', '=', workspaceId)
        .where('owner_id', '=', userId)
        .executeTakeFirst();
      return row !== undefined;
    },

    listOwned: async (userId) => (await workspaceRows(database, sql`w.owner_id = ${userId}`)).rows,

    findOwned: async (workspaceId, userId) =>
      (await workspaceRows(database, sql`w.id = ${workspaceId} AND w.owner_id = ${userId}`)).rows[0],

    findAll: async (workspaceIds, db = database) =>
      workspaceIds.length === 0 ? [] : (await workspaceRows(db, sql`w.id = ANY(${[...workspaceIds]}::uuid[])`)).rows,
  };
}
