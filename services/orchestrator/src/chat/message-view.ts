import {
  emptyReplyText,
  listedStatus,
  messageError,
  type AgentRole,
  type MessageData,
  type Mention,
  type MessageContent,
  type MessageRole,
  type MessageStatus,
} from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../platform/database/schema.js';
import { agentData, type AgentViewContext } from '../records/agent-view.js';
import type { Attachments, StoredAttachment } from '../workspaces/uploads/attachments.js';
import { isBlank } from '../records/visible-text.js';
import { answerFields } from '../records/answers.js';
import { type Position, positionOf } from '../records/position.js';

/** A message with the visible fields of its agent. */
export interface MessageRow extends Position {
  id: string;
  /** The seq of the last event that changed it. */
  rev: number;
  workspace_id: string;
  conversation_id: string;
  role: MessageRole;
  content: MessageContent;
  status: MessageStatus;
  error_code: string | null;
  /** Null without tracing. */
  error_trace_id: string | null;
  local_id: string | null;
  mentions: Mention[];
  attachments: StoredAttachment[];
  created_at: Date;
  updated_at: Date;
  edited_at: Date | null;
  answer_turn_id: string | null;
  in_reply_to: string | null;
  answered_with: string | null;
  schedule_id: string | null;
  trigger_id: string | null;
  agent_id: string | null;
  agent_name: string | null;
  agent_role: string | null;
  agent_kind: AgentRole | null;
  agent_slug: string | null;
  agent_avatar: string | null;
  agent_activity: AgentActivity | null;
  runtime_phase: InternalPhase | null;
  runtime_silent_since: Date | null;
}

/** A message with the fields of its conversation and its workspace that it changes. */
export interface ChangedMessageRow extends MessageRow {
  conversation_title: string;
  conversation_unread: number;
  workspace_unread: number;
  /** Null for a message that belongs to no answer. */
  answer_ended: boolean | null;
}

/** A message of a page. */
export interface PageRow extends MessageRow {
  /** The number of messages found for the page. Messages that exceed the response size limit are not read. */
  found?: number;
  /** Estimated response size in bytes of the messages of the page, up to and including this one. */
  total_bytes?: number;
  /** Whether messages exist on the other side of the start of the page. Null or absent if it is not known. */
  behind?: boolean | null;
}

/** The input of a view in addition to the row: the time, avatars, and fresh links. */
export interface ViewContext extends AgentViewContext {
  attachment: Attachments['render'];
}

/** Called once per response. */
export type CreateViewContext = () => ViewContext;

function agentOf(row: MessageRow, viewContext: ViewContext): MessageData['agent'] {
  if (row.agent_id === null || row.agent_kind === null) return null;
  return agentData(
    {
      id: row.agent_id,
      name: row.agent_name ?? '',
      role: row.agent_role ?? '',
      kind: row.agent_kind,
      slug: row.agent_slug ?? '',
      avatar_url: row.agent_avatar ?? '',
      activity: row.agent_activity ?? 'online',
      phase: row.runtime_phase,
      silent_since: row.runtime_silent_since,
    },
    viewContext,
  );
}

/** The error of a failed message. The previous release stored no code. */
export function errorOf({
  status,
  error_code: code,
  error_trace_id: traceId = null,
}: Pick<MessageRow, 'status' | 'error_code'> & Partial<Pick<MessageRow, 'error_trace_id'>>): MessageData['error'] {
  return status === 'failed' || status === 'incomplete' ? messageError(code ?? 'internal_error', traceId) : null;
}

/** Fills empty replies, so that clients show no empty bubble. Such a reply is stored without text, and is never unread or found. */
export function shownContent(
  row: Pick<MessageRow, 'role' | 'content' | 'status' | 'error_code' | 'agent_name'>,
): MessageContent {
  const { role, content, status, agent_name: name } = row;
  if (role !== 'agent' || content.type !== 'text' || !isBlank(content.text)) return content;
  return { type: 'text', text: errorOf(row)?.message ?? emptyReplyText(name ?? 'The agent', status) };
}

// RES-050 to RES-062
export function messageView(row: MessageRow, viewContext: ViewContext): MessageData {
  const { id, conversation_id, role, status, local_id, attachments, mentions } = row;
  return {
    id,
    conversation_id,
    role,
    content: shownContent(row),
    status: listedStatus(status),
    extended_status: status,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    rev: row.rev,
    position: positionOf(row),
    error: errorOf(row),
    edited_at: row.edited_at?.toISOString() ?? null,
    local_id,
    agent: agentOf(row, viewContext),
    attachments: attachments.map(viewContext.attachment),
    mentions,
    ...answerFields(row.answer_turn_id, row.in_reply_to),
    ...(row.answered_with === null ? {} : { answered_with: row.answered_with }),
    ...(row.schedule_id === null ? {} : { schedule_id: row.schedule_id }),
    ...(row.trigger_id === null ? {} : { trigger_id: row.trigger_id }),
  };
}
