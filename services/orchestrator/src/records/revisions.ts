import type { DurableEventName } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import { reviseConversation, reviseConversationOfMessage } from './conversation-rows.js';
import { reviseMessage } from './message-rows.js';

interface Change {
  type: DurableEventName;
  subjectId: string;
  /** Set for `message.deleted`. */
  conversationId: string | null;
}

/** Change no workspace field that clients see. */
const BESIDE_WORKSPACE: ReadonlySet<DurableEventName> = new Set(['conversation.new', 'conversation.updated']);

/** The workspace's new `rev` in the statement that increments its `last_seq`. */
export const workspaceRev = (type: DurableEventName): RawBuilder<number> =>
  BESIDE_WORKSPACE.has(type) ? sql<number>`rev` : sql<number>`last_seq + 1`;

/**
 * CTEs that set `rev` on the changed message and conversation to `counter.last_seq`. An event about a new object
 * precedes its row, which is inserted with this `rev`. A message is part of its conversation, as the last or an unread
 * one.
 */
export function revisedRows({ type, subjectId, conversationId }: Change): RawBuilder<unknown> {
  switch (type) {
    case 'message.updated':
    case 'message.done':
      return sql`, revised_message AS (${reviseMessage(subjectId)}), revised_conversation AS (${reviseConversationOfMessage})`;
    case 'message.deleted':
      return revisedConversation(conversationId);
    case 'conversation.updated':
      return revisedConversation(subjectId);
    case 'message.new':
    case 'conversation.new':
    case 'conversation.deleted':
    case 'workspace.updated':
      return sql``;
  }
}

const revisedConversation = (id: string | null): RawBuilder<unknown> =>
  sql`, revised_conversation AS (${reviseConversation(id)})`;
