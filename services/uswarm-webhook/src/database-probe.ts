import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay, type Logger } from '@uswarm/service-kit';
import { Client, type ClientConfig } from 'pg';
import type { Database } from './config/stores.js';
import type { DatabaseState } from './render/settings.js';

export interface DatabaseProbe {
  state(): DatabaseState;
  stop(): Promise<void>;
}

export interface ProbeOptions {
  /** One probe; a rejection means unreachable. */
  probe: () => Promise<void>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds between two probes while the database is reachable. */
  intervalMs?: number;
}

const INTERVAL_MS = 3_000;
const TIMEOUT_MS = 2_000;

/** Probes periodically in the background; resolves after the first probe. */
export async function startProbe({ probe, logger, intervalMs = INTERVAL_MS }: ProbeOptions): Promise<DatabaseProbe> {
  let state: DatabaseState = 'unset';
  let failures = 0;
  const stopping = new AbortController();
  const attempt = async (): Promise<void> => {
    const reachable = await probe().then(
      () => true,
      () => false,
    );
    failures = reachable ? 0 : failures + 1;
    const next = reachable ? 'reachable' : 'unreachable';
    if (next !== state && reachable) logger.info('runtime database reachable');
    if (next !== state && !reachable) logger.warn('runtime database unreachable');
    state = next;
  };
  await attempt();
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const delay =
        failures === 0 ? intervalMs : backoffDelay({ initialMs: intervalMs / 3, maxMs: intervalMs }, failures - 1);
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) await attempt();
    }
  })();
  return {
    state: () => state,
    async stop() {
      stopping.abort();
      await loop;
    },
  };
}

const TLS: Readonly<Record<Database['sslMode'], ClientConfig['ssl']>> = {
  disable: false,
  require: { rejectUnauthorized: false },
  'verify-ca': { checkServerIdentity: () => undefined },
  'verify-full': true,
};

/** Opens a connection, runs `SELECT 1`, and closes the connection. */
export const probeDatabase = (database: Database) => async (): Promise<void> => {
  const { sslMode, ...connection } = database;
  const client = new Client({
    ...connection,
    ssl: TLS[sslMode] ?? false,
    application_name: 'uswarm-webhook',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // Without a listener, a connection that breaks between two calls would crash the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    // Not awaited, because an unreachable database does not respond to this either.
    void client.end().catch(() => undefined);
  }
};
