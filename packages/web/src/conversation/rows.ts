import type { ShownMessage } from '@uswarm/client';
import { isOpenCard } from '../session/open-cards.js';

/** A transcript item: a message, or consecutive tool calls. */
export interface Row {
  key: string;
  /** One message, or several calls by one agent. */
  messages: ShownMessage[];
  isTools: boolean;
  /** Number of delegations that lead to the agent. */
  depth: number;
  /** Shows the author, because the row before has another one. */
  isFirst: boolean;
  /** Time of the first message if the conversation paused before it. */
  pausedUntil: string | undefined;
  /** True for the first unread message. */
  isFirstUnread: boolean;
  /** Stays open, because an approval follows. */
  isPinned: boolean;
}
const PAUSE_MS = 60 * 60 * 1000;

/** @param lastReadId the last read message when the conversation was opened; null if there was none */
export function rowsOf(messages: readonly ShownMessage[], lastReadId?: string | null): Row[] {
  const rows: Row[] = [];
  const depths = new Map<string, number>();
  let last: ShownMessage | undefined;
  let isUnread = lastReadId === null;
  for (const one of messages) {
    if (one.role === 'user') depths.clear();
    const { content, message } = one;
    const agentId = message?.agent?.id ?? '';
    const depth = depths.get(agentId) ?? 0;
    if (content.type === 'delegation' && 'to' in content && content.to) depths.set(content.to.id, depth + 1);
    const isTools = content.type === 'tool_status';
    const row = rows.at(-1);
    const sameAuthor = last !== undefined && authorOf(last) === authorOf(one);
    if (row?.isTools && isTools && sameAuthor && row.depth === depth) {
      row.messages.push(one);
    } else {
      if (row?.isTools && isOpen(one)) row.isPinned = true;
      const [at, before] = [message?.created_at, last?.message?.created_at];
      const isPause = at !== undefined && (before === undefined || Date.parse(at) - Date.parse(before) > PAUSE_MS);
      rows.push({
        key: one.key,
        messages: [one],
        isTools,
        depth: isTools || content.type === 'delegation' ? depth : 0,
        isFirst: !sameAuthor || isPause,
        pausedUntil: isPause ? at : undefined,
        isFirstUnread: isUnread && one.role !== 'user',
        isPinned: false,
      });
      if (one.role !== 'user') isUnread = false;
    }
    if (one.id !== null && one.id === lastReadId) isUnread = true;
    last = one;
  }
  return rows;
}

const authorOf = ({ role, message }: ShownMessage): string => `${role} ${message?.agent?.id ?? ''}`;

const isOpen = ({ content, message }: ShownMessage): boolean => isOpenCard({ content, error: message?.error ?? null });

/** Tells screen readers who works, but not each word. */
export function activityOf(messages: readonly ShownMessage[]): { isWorking: boolean; text: string } {
  const last = messages.at(-1);
  const card = messages.findLast(isOpen);
  const running = messages.filter(({ content }) => 'status' in content && content.status === 'running').length;
  const writing = messages.findLast(({ streaming }) => streaming);
  const question = messages.findLast(({ role }) => role === 'user');
  if (card !== undefined && card === last) return { isWorking: false, text: 'A decision waits for you.' };
  if (writing !== undefined) {
    const name = writing.message?.agent?.name ?? 'The agent';
    return { isWorking: true, text: writing.text === '' ? `${name} is thinking` : `${name} is writing` };
  }
  if (running > 0) return { isWorking: true, text: `${running === 1 ? 'One task runs' : `${running} tasks run`}` };
  if (question !== undefined && question.id !== null && !question.answered && question.status !== 'failed')
    return { isWorking: true, text: 'The swarm is working' };
  return { isWorking: false, text: last === undefined || last.role === 'user' ? '' : 'The answer is complete.' };
}
