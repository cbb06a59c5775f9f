import type { Client } from '@uswarm/client';
import { useConnection, useOutbox } from '@uswarm/client/react';
import { useEffect, useState } from 'react';

interface ConnectionText {
  state: 'live' | 'connecting' | 'offline';
  text: string;
}

/** Tells if the page is live, or since when it is not. */
export function useConnectionText(client: Client): ConnectionText {
  const { state, code } = useConnection(client);
  const waiting = useOutbox(client).filter((item) => item.state === 'queued').length;
  const since = useSince(state !== 'live');
  const announced = useAnnounced(client);
  const queue = waiting > 0 ? `, ${waiting} waiting` : '';
  if (state === 'live')
    return announced === 'reload' ? connecting('Loading what was missed…') : { state, text: 'Live' };
  if (state === 'connecting') return connecting(`Connecting…${queue}`);
  return { state: 'offline', text: `${TEXTS[announced ?? code ?? ''] ?? `Offline since ${since}`}${queue}` };
}
const connecting = (text: string): ConnectionText => ({ state: 'connecting', text });
/** By the code that ended the connection. */
const TEXTS: Readonly<Record<string, string>> = {
  too_many_sockets: 'Replaced by a newer device',
  server_leaving: 'The service restarts, back in some seconds',
};

/** The service's announcement for this connection: it lost events, or ends. */
function useAnnounced(client: Client): 'reload' | 'server_leaving' | undefined {
  const [announced, set] = useState<'reload' | 'server_leaving'>();
  useEffect(() => {
    const ends = [
      client.on('workspace.resync', () => set('reload')),
      client.on('session.ending', ({ code }) => code === 'server_leaving' && set(code)),
      client.on('workspace.subscribed', () => set(undefined)),
    ];
    return () => ends.forEach((end) => end());
  }, [client]);
  return announced;
}

/** Time at which a condition began to hold. */
function useSince(holds: boolean): string {
  const [since, setSince] = useState('');
  useEffect(() => {
    if (holds) setSince(new Date().toLocaleTimeString(undefined, { timeStyle: 'short' }));
  }, [holds]);
  return since;
}
