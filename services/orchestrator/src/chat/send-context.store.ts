import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { SwarmMember } from '../records/agents.store.js';
import { USED_COLUMNS, usedIn, type WorkspaceUsageRow } from '../metering/usage.store.js';

/** The conversation and the local id of a message to send. */
export interface SendTarget {
  userId: string;
  workspaceId: string;
  conversationId: string;
  localId: string | undefined;
}

export interface SentBefore {
  id: string;
  bodyHash: Buffer | null;
}

/** The data that is needed before a message is stored. */
export interface SendContext {
  /** The agent of an agent conversation; undefined if the conversation does not exist. */
  conversation: { agentId: string | null; hasTitle: boolean } | undefined;
  members: readonly Pick<SwarmMember, 'id' | 'name' | 'slug' | 'kind'>[];
  /** The earlier message of the sender with this local id. */
  sent: SentBefore | undefined;
  isBanned: boolean;
  usage: WorkspaceUsageRow;
  /** The time of the database. */
  now: Date;
}

interface Row extends WorkspaceUsageRow {
  position: number;
  conversation_id: string | null;
  agent_id: string | null;
  has_title: boolean;
  sent_id: string | null;
  body_hash: Buffer | null;
  members: SendContext['members'];
  is_banned: boolean;
  now: Date;
}

/**
 * One statement.
 *
 * @param period of the usage
 * @returns for each target its context; undefined if the workspace does not belong to the sender
 */
export async function findSendContexts(
  db: Database,
  targets: readonly SendTarget[],
  period: string,
): Promise<(SendContext | undefined)[]> {
  const column = <Value>(read: (target: SendTarget) => Value): Value[] => targets.map(read);
  // Subselects: Postgres then estimates the same number of targets each time, and keeps one plan.
  const { rows } = await sql<Row>`
    SELECT s.n - 1 AS position, c.id AS conversation_id, c.agent_id, c.title IS NOT NULL AS has_title,
      sent.id AS sent_id, sent.body_hash,
      members.list AS members, u.is_banned, u.plan_code, u.plan_expires_at, w.monthly_cost_micros, w.monthly_tokens,
      ${USED_COLUMNS}, clock_timestamp() AS now
    FROM unnest(
      (SELECT ${column(({ userId }) => userId)}::uuid[]),
      (SELECT ${column(({ workspaceId }) => workspaceId)}::uuid[]),
      (SELECT ${column(({ conversationId }) => conversationId)}::uuid[]),
      (SELECT ${column(({ localId }) => localId ?? null)}::text[])
    ) WITH ORDINALITY AS s (user_id, workspace_id, conversation_id, local_id, n)
    JOIN workspaces w ON w.id = s.workspace_id AND w.owner_id = s.user_id
    JOIN users u ON u.id = w.owner_id
    LEFT JOIN conversations c ON c.id = s.conversation_id AND c.workspace_id = w.id
    LEFT JOIN messages sent
      ON sent.workspace_id = w.id AND sent.sender_id = w.owner_id AND sent.local_id = s.local_id
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(json_build_object('id', a.id, 'name', a.name, 'slug', a.slug, 'kind', a.kind)), '[]') AS list
      FROM agents a WHERE a.workspace_id = w.id AND a.deleted_at IS NULL
    ) members
    CROSS JOIN LATERAL ${usedIn(period)} used`.execute(db);
  const contexts = new Map(rows.map((row) => [row.position, contextOf(row)]));
  return targets.map((_, index) => contexts.get(index));
}

function contextOf(row: Row): SendContext {
  const {
    position: _,
    conversation_id,
    agent_id,
    has_title,
    sent_id,
    body_hash,
    members,
    is_banned,
    now,
    ...usage
  } = row;
  return {
    conversation: conversation_id === null ? undefined : { agentId: agent_id, hasTitle: has_title },
    members,
    sent: sent_id === null ? undefined : { id: sent_id, bodyHash: body_hash },
    isBanned: is_banned,
    usage,
    now,
  };
}
