import { DECEPTIVE_IN_TEXT } from '@uswarm/service-kit';
import type { MessageContent, MessageStatus } from '@uswarm/contract';
import { oneLine } from '../../records/one-line.js';
import { previewText } from '../../workspaces/workspace-view.js';
import type { PushMessage } from './push-sender.js';

/** Limits for title and body in code points. Firebase limits a notification to 4 KB. */
const TITLE_LENGTH = 80;
const BODY_LENGTH = 140;

export interface AnnouncedMessage {
  id: string;
  workspaceId: string;
  conversationId: string;
  agentName: string | null;
  content: MessageContent;
  status: MessageStatus;
}

/** An answer has ended or failed, or a card waits for a decision. */
type Subject = 'answer' | 'failure' | 'decision';

const TEXTS: Record<Subject, { title: string; body: string }> = {
  answer: { title: 'New answer', body: 'Open the app to read it.' },
  failure: { title: 'No answer', body: 'Your request could not be answered.' },
  decision: { title: 'Your decision is needed', body: 'Open the app to decide.' },
};

/** @param preview true if the notification contains names and a part of the message */
export function notificationOf(message: AnnouncedMessage, badge: number, preview: boolean): PushMessage {
  const subject = subjectOf(message);
  const { id, workspaceId, conversationId } = message;
  return {
    collapseKey: id,
    group: conversationId,
    alert: preview ? withPreview(subject, message) : TEXTS[subject],
    badge,
    data: { type: subject, workspace_id: workspaceId, conversation_id: conversationId, message_id: id },
  };
}

/** The device removes these notifications, which belong to one conversation. */
export interface WithdrawnNotifications {
  workspaceId: string;
  conversationId: string;
  messageIds: readonly string[];
}

/** Replaces a single notification that was not delivered yet: both have the same collapse key. */
export function withdrawalOf(withdrawn: WithdrawnNotifications, badge: number): PushMessage {
  const { workspaceId, conversationId, messageIds } = withdrawn;
  const [messageId = conversationId, ...others] = messageIds;
  const ids = { workspace_id: workspaceId, conversation_id: conversationId, message_ids: messageIds.join(',') };
  return {
    collapseKey: others.length === 0 ? messageId : conversationId,
    group: conversationId,
    alert: null,
    badge,
    data: { type: 'withdrawal', ...ids },
  };
}

function subjectOf({ content, status }: AnnouncedMessage): Subject {
  if (content.type === 'action_card') return 'decision';
  return status === 'failed' || status === 'incomplete' ? 'failure' : 'answer';
}

function withPreview(subject: Subject, { agentName, content }: AnnouncedMessage): { title: string; body: string } {
  const { title, body } = TEXTS[subject];
  const preview = limited(previewText(content), BODY_LENGTH) || body;
  if (subject === 'decision') return { title, body: preview };
  return { title: limited(agentName ?? '', TITLE_LENGTH) || title, body: subject === 'failure' ? body : preview };
}

/** One line, without characters that hide or reorder text. */
function limited(text: string, length: number): string {
  const characters = [...oneLine(text.replaceAll(DECEPTIVE_IN_TEXT, ''))];
  return characters.length <= length ? characters.join('') : `${characters.slice(0, length - 1).join('')}…`;
}
