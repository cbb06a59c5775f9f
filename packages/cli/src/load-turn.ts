import type { MessageData } from '@uswarm/contract';
import type { Session } from './session.js';
import { hasUserMessage, type Turn } from './turn.js';

/**
 * Pages with 100 messages each. More than a turn creates, and an end to the search for a message that was never stored.
 */
const MAX_PAGES = 10;

/** Loads a turn's newest messages, back to its user message. */
export async function loadTurn(
  session: Pick<Session, 'messagePage'>,
  workspaceId: string,
  turn: Turn,
): Promise<MessageData[]> {
  const messages: MessageData[] = [];
  let scrollId: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { data, pagination } = await session.messagePage(workspaceId, turn.conversationId, scrollId);
    messages.push(...data);
    if (hasUserMessage(turn, data) || pagination.next_scroll_id === null) break;
    scrollId = pagination.next_scroll_id;
  }
  return messages;
}
