import { createHash } from 'node:crypto';
import { ApiError, MessageContentType, type Mention, type MessageDraft, type SentDraft } from '@uswarm/contract';
import type { SendContext } from '../chat/send-context.store.js';

/** Validates a client message and selects the agents that answer it. Pure. */

/**
 * Returns the text. It may be empty only if the message has an attachment.
 *
 * @throws ApiError `validation_failed` for an unknown type or missing text, `content_type_not_allowed` for other types
 */
export function checkedText({ content, attachments }: Pick<MessageDraft, 'content' | 'attachments'>): string {
  if (content.type !== 'text') {
    if (MessageContentType.safeParse(content.type).success) throw new ApiError('content_type_not_allowed');
    throw invalid('content.type', 'is not a type of content');
  }
  const text = content.text ?? '';
  if (text.trim() === '' && attachments.length === 0) throw invalid('content.text', 'must not be empty');
  return text;
}

export function invalid(path: string, message: string): ApiError {
  return new ApiError('validation_failed', { extra: { fields: [{ path, message }] } });
}

/**
 * Offset and length count UTF-16 code units. A range must not split a surrogate pair. Names come from the swarm, not
 * from the client.
 *
 * @throws ApiError `mention_invalid`
 */
export function checkedMentions(draft: MessageDraft, text: string, members: SendContext['members']): Mention[] {
  if (draft.mentions.length === 0) return typedMentions(text, members);
  return draft.mentions.map(({ agent_id, offset, length }) => {
    const agent = members.find(({ id }) => id === agent_id);
    const end = offset + length;
    if (agent === undefined || end > text.length || cuts(text, offset) || cuts(text, end)) {
      throw new ApiError('mention_invalid');
    }
    return { agent_id, agent_name: agent.name, offset, length };
  });
}

/** Code, in which nothing is a mention, or `@` and a name that no other word precedes, as in mail addresses. */
const CODE_OR_NAME = /```[\s\S]*?(?:```|$)|`[^`\n]*`|(?<![\p{L}\p{N}_@./-])@([\p{L}\p{N}_-]+)/gu;

/** Each agent whose `@slug` is in the text, once. Clients without a list of agents send no mentions. */
function typedMentions(text: string, members: SendContext['members']): Mention[] {
  const mentions = new Map<string, Mention>();
  for (const { 1: name, index } of text.matchAll(CODE_OR_NAME)) {
    const agent = members.find(({ slug }) => slug === name?.toLowerCase());
    if (name === undefined || agent === undefined || mentions.has(agent.id)) continue;
    mentions.set(agent.id, { agent_id: agent.id, agent_name: agent.name, offset: index, length: name.length + 1 });
  }
  return [...mentions.values()];
}

function cuts(text: string, index: number): boolean {
  return index > 0 && (text.codePointAt(index - 1) ?? 0) > 0xffff;
}

/**
 * The agent conversation's own agent. In a swarm: each mentioned agent once, in order, or else the manager.
 *
 * @throws ApiError `agent_deleted`
 */
export function answeringAgents(
  conversation: { agentId: string | null },
  mentions: readonly Mention[],
  members: SendContext['members'],
): string[] {
  if (conversation.agentId !== null) {
    // The workspace's agents include the partner of each conversation until the user deletes it.
    if (!members.some(({ id }) => id === conversation.agentId)) throw new ApiError('agent_deleted');
    return [conversation.agentId];
  }
  if (mentions.length > 0) return [...new Set(mentions.map(({ agent_id }) => agent_id))];
  const manager = members.find(({ kind }) => kind === 'manager');
  // Each workspace has a manager until the workspace is deleted.
  if (manager === undefined) throw new ApiError('workspace_not_found');
  return [manager.id];
}

/** Equal for two requests with the same message. */
export function bodyHash(conversationId: string, draft: SentDraft): Buffer {
  const mentions = draft.mentions.map(({ agent_id, offset, length }) => [agent_id, offset, length]);
  const attachments = draft.attachments.map(({ id }) => id);
  const steers = draft.steer === true ? ['steer'] : [];
  const meaning = [conversationId, draft.content.type, draft.content.text ?? null, mentions, attachments, ...steers];
  return createHash('sha256').update(JSON.stringify(meaning)).digest();
}
