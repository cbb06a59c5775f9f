import type { Client, ShownMessage } from '@uswarm/client';
import { useConversation, useSignal } from '@uswarm/client/react';
import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import type { OpenCard } from './open-cards.js';
import type { Session } from './session.js';

export const SessionContext = createContext<Session | undefined>(undefined);

/** @throws outside the sign-in */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('There is no session.');
  return session;
}
export const useClient = (): Client => useSession().client;

export const useMessages = (workspaceId: string, conversationId: string): ShownMessage[] =>
  useConversation(useClient(), workspaceId, conversationId).messages;
export function useOpenCards(): OpenCard[] {
  const { subscribe, getSnapshot } = useSession().openCards;
  return useSyncExternalStore(subscribe, getSnapshot);
}
export const useAgents = (workspaceId: string) => useSignal(useClient().workspace(workspaceId).swarm).agents;

/** An API call's result. `reload` repeats the call; the last data stays until then. */
export interface Loaded<Value> {
  data: Value | undefined;
  error: Error | undefined;
  loading: boolean;
  reload(): void;
}

/** Calls the API when `key` changes. State that events change belongs in `@uswarm/client` instead. */
export function useLoaded<Value>(
  key: string,
  load: (client: Client, signal: AbortSignal) => Promise<Value>,
): Loaded<Value> {
  const client = useClient();
  const [count, setCount] = useState(0);
  const [state, setState] = useState<{ key?: string; data?: Value; error?: Error; loading: boolean }>({
    loading: true,
  });
  useEffect(() => {
    const ending = new AbortController();
    setState((known) => (known.key === key ? { ...known, loading: true } : { loading: true }));
    load(client, ending.signal).then(
      (data) => ending.signal.aborted || setState({ key, data, loading: false }),
      (error: Error) => ending.signal.aborted || setState({ key, error, loading: false }),
    );
    return () => ending.abort();
    // The function changes with each render; its inputs are in the key.
  }, [client, key, count]);
  const reload = useCallback(() => setCount((known) => known + 1), []);
  return { data: state.data, error: state.error, loading: state.loading, reload };
}
