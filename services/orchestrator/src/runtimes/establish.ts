import { setTimeout as sleep } from 'node:timers/promises';
import type { Http2SessionManager } from '@connectrpc/connect-node';

/** Time limit in ms for each attempt without a response. */
const ATTEMPTS = [100, 200, 200, 200, 200, 200, 200];
/** A refusal is a response, so the next attempt follows soon. */
const REFUSED_MS = 50;
const MAX_REFUSALS = 26;

export interface EstablishDeps<Connection> {
  open: () => Connection;
  discard: (connection: Connection) => void;
  /** Retries a refused attempt. Default: false */
  retryRefused?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Connects to a runtime that may just have become ready. Cluster networks can drop packets to a new pod for a moment.
 * TCP retransmits the first packet after a second, so a new connection is faster. Cluster networks can also refuse
 * connections until they know that the pod is ready: kube-proxy updates its rules at most once per second by default.
 * If every attempt fails, the next call connects with its own time limit.
 */
export async function establish<Connection extends { session: Pick<Http2SessionManager, 'state' | 'connect'> }>({
  open,
  discard,
  retryRefused = false,
  signal,
}: EstablishDeps<Connection>): Promise<void> {
  let refusals = 0;
  for (let attempt = 0; attempt < ATTEMPTS.length && signal?.aborted !== true;) {
    const connection = open();
    const state = connection.session.state();
    if (state !== 'closed' && state !== 'error' && state !== 'connecting') return;
    const connected = await Promise.race([connection.session.connect(), sleep(ATTEMPTS[attempt])]);
    if (connected === undefined) attempt += 1;
    else if (connected === 'error' && retryRefused && refusals < MAX_REFUSALS) {
      refusals += 1;
      await sleep(REFUSED_MS);
    } else return;
    discard(connection);
  }
}
