import { useMemo, useSyncExternalStore } from 'react';
import type { Client } from './client.js';
import type { Signal } from './store.js';

/** The value of any signal, also of one without its own hook. */
export function useSignal<Value>({ subscribe, getSnapshot }: Signal<Value>): Value {
  return useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
}
/** A conversation's messages, and the actions on it. */
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
