import type { Client, Conversation } from '@uswarm/client';
import { useConversations } from '@uswarm/client/react';
import { useEffect } from 'react';

/** Conversations that this page has created, but whose event has not arrived. */
const awaited = new Set<string>();
export const awaitConversation = (id: string): void => void awaited.add(id);

/** `isGone`: the conversation was deleted, or never existed. */
export function useListed(
  client: Client,
  workspaceId: string,
  id: string,
): { conversation: Conversation | undefined; isGone: boolean } {
  const conversations = useConversations(client, workspaceId);
  const conversation = conversations.find((each) => each.id === id);
  useEffect(() => {
    if (conversation !== undefined) awaited.delete(conversation.id);
  }, [conversation]);
  return { conversation, isGone: conversation === undefined && conversations.length > 0 && !awaited.has(id) };
}
