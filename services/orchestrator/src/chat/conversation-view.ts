import type { Conversation, MessageData } from '@uswarm/contract';
import { agentSummary } from '../records/agent-view.js';
import { messageView, type ViewContext } from './message-view.js';
import type { ConversationRow } from './conversations.store.js';

/** RES-043 to RES-049 */
export function conversationView(row: ConversationRow, viewContext: ViewContext): Conversation {
  const agent =
    row.partner_id === null
      ? null
      : agentSummary(
          {
            id: row.partner_id,
            name: row.partner_name,
            role: row.partner_role,
            kind: row.partner_kind,
            slug: row.partner_slug,
            avatar_url: row.partner_avatar,
            activity: row.partner_activity,
            phase: row.partner_phase,
            silent_since: row.partner_silent_since,
            deleted: row.partner_deleted,
          },
          viewContext,
        );
  return {
    id: row.own_id,
    type: row.type,
    title: row.title,
    created_at: row.conversation_created_at.toISOString(),
    updated_at: row.conversation_updated_at.toISOString(),
    rev: row.conversation_rev,
    unread_count: row.unread_count,
    last_read_message_id: row.last_read_id,
    muted: row.muted,
    agent,
    last_message: row.last_message === null ? null : previewOf(row.last_message, viewContext),
  };
}

/** A message with the beginning of its text. Mentions in the rest would be outside the text. */
function previewOf(row: NonNullable<ConversationRow['last_message']>, viewContext: ViewContext): MessageData {
  const view = messageView(row, viewContext);
  if (!row.truncated || !('text' in view.content)) return view;
  const { length: end } = view.content.text;
  return { ...view, mentions: view.mentions.filter(({ offset, length }) => offset + length <= end), truncated: true };
}
