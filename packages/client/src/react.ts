import { useMemo, useSyncExternalStore } from 'react';
import type { Client } from './client.js';
import type { Signal } from './store.js';

/** The value of a signal, also of those that have no hook. */
export function useSignal<Value>({ subscribe, getSnapshot }: Signal<Value>): Value {
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
/** The messages of a conversation, and what can be done in it. */
export function useConversation(client: Client, workspaceId: string, conversationId: string) {
  const chat = useMemo(
    () => client.workspace(workspaceId).conversation(conversationId),
    [client, workspaceId, conversationId],
  );
  return { ...chat, messages: useSignal(chat.messages) };
}
export const useWorkspaces = (client: Client) => useSignal(client.workspaces);
export const useConversations = (client: Client, workspaceId: string) =>
  useSignal(client.workspace(workspaceId).conversations);
export const useSwarm = (client: Client, workspaceId: string) => useSignal(client.workspace(workspaceId).swarm);
export const useConnection = (client: Client) => useSignal(client.connection);
export const useOutbox = (client: Client) => useSignal(client.outbox);
