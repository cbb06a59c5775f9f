import { randomUUIDv7 } from 'node:crypto';
import { LIMITS, type Mention } from '@uswarm/contract';
import pg from 'pg';
import { createGroups } from '../platform/database/groups.js';
import type { MessageRow } from './message-view.js';
import type { GroupedMessage, SendGroupStore, StoredMessage } from './send-groups.store.js';

/** A message of a user without attachments, for one agent. */
export interface PlainMessage {
  workspaceId: string;
  conversationId: string;
  userId: string;
  agentId: string;
  text: string;
  mentions: readonly Mention[];
  /** The title of the conversation, if it has none. */
  title: string | undefined;
  localId: string | undefined;
  bodyHash: Buffer;
  /** After this time of the database the message is not stored. */
  deadline: Date;
}

export interface SendGroupsDeps {
  store: SendGroupStore;
  /** Called after the commit of a group. */
  stored: (messages: readonly StoredMessage[]) => void;
}

/** Stores messages that arrive at the same time in one transaction, so that they share its statement and its flush. */
export interface SendGroups {
  /** @returns undefined if the message was not stored: it needs its own transaction */
  store(message: PlainMessage): Promise<MessageRow | undefined>;
}

/** More messages than arrive during a commit, and few enough for the memory of one statement. */
const MAX_MESSAGES = 64;
const MAX_GROUPS = 4;
/** Several times the duration of a group. */
const PATIENCE_MS = 50;

/** Errors that end the connection: the statement may have been committed before. */
const CONNECTION_ENDED = /^(08|57P|58|XX)/;

const isRolledBack = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !CONNECTION_ENDED.test(error.code ?? 'XX');

export function createSendGroups({ store, stored }: SendGroupsDeps): SendGroups {
  async function storeGroup(messages: readonly GroupedMessage[]): Promise<(StoredMessage | undefined)[]> {
    const rows = await insert(messages);
    if (rows.length > 0) stored(rows);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return messages.map(({ id }) => byId.get(id));
  }

  /** An error of one message must not fail the others: then each gets its own transaction. */
  async function insert(messages: readonly GroupedMessage[]): Promise<StoredMessage[]> {
    try {
      return await store.insert(messages, LIMITS.queuedTurns);
    } catch (error) {
      if (isRolledBack(error)) return [];
      throw error;
    }
  }

  const add = createGroups({
    run: storeGroup,
    maxItems: MAX_MESSAGES,
    maxGroups: MAX_GROUPS,
    patienceMs: PATIENCE_MS,
  });

  return {
    async store(message) {
      const { localId = null, title = null, ...sent } = message;
      const row = await add({ ...sent, id: randomUUIDv7(), turnId: randomUUIDv7(), title, localId });
      return row === undefined ? undefined : rowOf(message, row);
    },
  };
}

/** The stored message as the database would return it. */
function rowOf(
  { workspaceId, conversationId, text, mentions, localId }: PlainMessage,
  { id, seq, created_at, updated_at }: StoredMessage,
): MessageRow {
  return {
    id,
    rev: seq,
    workspace_id: workspaceId,
    conversation_id: conversationId,
    seq,
    before_seq: null,
    role: 'user',
    content: { type: 'text', text },
    status: 'sent',
    error_code: null,
    local_id: localId ?? null,
    mentions: [...mentions],
    attachments: [],
    created_at,
    updated_at,
    edited_at: null,
    answer_turn_id: null,
    in_reply_to: null,
    agent_id: null,
    agent_name: null,
    agent_role: null,
    agent_kind: null,
    agent_slug: null,
    agent_avatar: null,
    agent_activity: null,
    runtime_phase: null,
    runtime_silent_since: null,
  };
}
