import { useConnection, useOutbox } from '@uswarm/client/react';
import { useEffect, useState } from 'react';
import { useClient } from '../session/use-client.js';
import styles from './layout.module.css';

/** Whether the page is live, and since when it is not. */
export function ConnectionLine() {
  const client = useClient();
  const { state, code } = useConnection(client);
  const waiting = useOutbox(client).filter((item) => item.state === 'queued').length;
  const since = useSince(state !== 'live');
  const shown = state === 'live' ? 'live' : state === 'connecting' ? 'connecting' : 'offline';
  return (
    <span className={styles['connection']} data-state={shown} role="status">
      <span className={styles['dot']} aria-hidden />
      {describe(shown, code, since, waiting)}
    </span>
  );
}

function describe(
  state: 'live' | 'connecting' | 'offline',
  code: string | null,
  since: string,
  waiting: number,
): string {
  const queue = waiting > 0 ? `, ${waiting} waiting` : '';
  if (state === 'live') return 'Live';
  if (state === 'connecting') return `Connecting…${queue}`;
  if (code === 'too_many_sockets') return 'Replaced by a newer device';
  return `Offline since ${since}${queue}`;
}

/** The time when a condition began to hold. */
function useSince(holds: boolean): string {
  const [since, setSince] = useState('');
  useEffect(() => {
    if (holds) setSince(new Date().toLocaleTimeString(undefined, { timeStyle: 'short' }));
  }, [holds]);
  return since;
}
