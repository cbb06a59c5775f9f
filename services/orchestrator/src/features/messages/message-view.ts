import {
  messageError,
  type AgentRole,
  type ListedMessage,
  type ListedMessageStatus,
  type Mention,
  type MessageContent,
  type MessageData,
  type MessageRole,
  type MessageStatus,
} from '@uswarm/contract';
import type { AgentActivity, InternalPhase } from '../../database/schema.js';
import { agentData, type AgentShowing } from '../agents/agent-view.js';
import type { Attachments, StoredAttachment } from '../uploads/attachments.js';
import { type Place, positionOf } from './place.js';

/** A message with what is shown of its agent. */
export interface MessageRow extends Place {
  id: string;
  workspace_id: string;
  conversation_id: string;
  role: MessageRole;
  content: MessageContent;
  status: MessageStatus;
  error_code: string | null;
  local_id: string | null;
  mentions: Mention[];
  attachments: StoredAttachment[];
  created_at: Date;
  updated_at: Date;
  edited_at: Date | null;
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

/** A message of a page. */
export interface PageRow extends MessageRow {
  /** How many messages were found for the page. Those that do not fit into one response are not read. */
  found?: number;
  /** About how many bytes the messages of the page take in a response, up to and including this one. */
  total_bytes?: number;
}

/** What a view needs besides the row: the time, avatars, and links that work from now on. */
export interface ViewContext extends AgentShowing {
  attachment: Attachments['render'];
}

/** Called once for each answer. */
export type Show = () => ViewContext;

function agentOf(row: MessageRow, showing: ViewContext): MessageData['agent'] {
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
    showing,
  );
}

/** Why a message failed; the release before stored no code. */
export function errorOf({ status, error_code }: Pick<MessageRow, 'status' | 'error_code'>): MessageData['error'] {
  return status === 'failed' || status === 'incomplete' ? messageError(error_code ?? 'internal_error') : null;
}

/** spec: orchestrator §2.10 */
export function messageView(row: MessageRow, showing: ViewContext): MessageData {
  const { id, conversation_id, role, content, status, local_id, attachments, mentions } = row;
  return {
    id,
    conversation_id,
    role,
    content,
    status,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    position: positionOf(row),
    error: errorOf(row),
    edited_at: row.edited_at?.toISOString() ?? null,
    local_id,
    agent: agentOf(row, showing),
    attachments: attachments.map(showing.attachment),
    mentions,
  };
}

const LISTED: Record<MessageStatus, ListedMessageStatus> = {
  pending: 'pending',
  sent: 'delivered',
  delivered: 'delivered',
  read: 'delivered',
  silent: 'delivered',
  delegated: 'delivered',
  failed: 'failed',
  incomplete: 'failed',
};

/** The documented three statuses of a list, and the exact one beside it. */
export function listedMessageView(row: MessageRow, showing: ViewContext): ListedMessage {
  const message = messageView(row, showing);
  return { ...message, status: LISTED[message.status], extended_status: message.status };
}
