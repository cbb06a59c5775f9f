import { createClient } from '@redis/client';
import { backoffDelay, startHeartbeat, type ValkeyCredentials, type ValkeyTarget } from '@uswarm/service-kit';
import { nodeOf } from './address.js';

export type ValkeyClient = ReturnType<typeof createNodeClient>;

/** Milliseconds */
export interface LinkTiming {
  /** Between two heartbeats. */
  heartbeatMs: number;
  /** Without a response, after which a connection is replaced. */
  answerDeadlineMs: number;
}

/** Called once per outage of a connection, not once per attempt. */
export interface ConnectionLog {
  disconnected(about: ConnectionName, error: unknown): void;
  reconnected(about: ConnectionName): void;
  /** The server does not answer; the connection is replaced. */
  unresponsive(about: ConnectionName): void;
}

/** `node` is absent if there is one server. */
export interface ConnectionName {
  role: string;
  node?: string;
}

export interface LinkOptions {
  target: ValkeyTarget;
  /** The connections' name at the server. */
  name: string;
  role: string;
  log: ConnectionLog;
  timing: LinkTiming;
  /** The commands that wait while the node is unreachable, and for how many ms; none: they fail immediately. */
  queue?: { length: number; deadlineMs: number };
}

/** A connection to one node. It reconnects without limit. */
export interface Link {
  /** `host:port` */
  readonly address: string;
  readonly client: ValkeyClient;
  /** Opens a new connection, which restores the subscriptions. */
  replace(): void;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
  /** Closes the connection; pending commands are written first if it is established. */
  close(): Promise<void>;
}

const RECONNECT = { initialMs: 50, maxMs: 2_000 };
/** Milliseconds until a connection that does not close is ended. */
const CLOSE_DEADLINE_MS = 1_000;

const encryption = (tls: boolean): { tls: true } | object => (tls ? { tls: true } : {});

function createNodeClient(address: string, options: LinkOptions) {
  const { target, name, timing, queue } = options;
  return createClient({
    ...target.credentials,
    database: target.database,
    name,
    ...(queue === undefined
      ? { disableOfflineQueue: true }
      : {
          commandsQueueMaxLength: queue.length,
          // Applies until a command is written. The heartbeat detects commands without a response.
          commandOptions: { timeout: queue.deadlineMs },
        }),
    socket: {
      ...nodeOf(address),
      ...encryption(target.tls),
      connectTimeout: timing.answerDeadlineMs,
      // Ends a handshake without a response. Later, each heartbeat resets it.
      socketTimeout: timing.answerDeadlineMs,
      reconnectStrategy: (retries: number) => backoffDelay(RECONNECT, retries),
    },
  });
}

/** A client for a few questions to a node or a sentinel. It does not reconnect. */
export function createQuestioner(
  address: string,
  {
    tls,
    credentials,
    name,
    deadlineMs,
  }: { tls: boolean; credentials: ValkeyCredentials; name: string; deadlineMs: number },
) {
  const client = createClient({
    ...credentials,
    name,
    socket: {
      ...nodeOf(address),
      ...encryption(tls),
      connectTimeout: deadlineMs,
      reconnectStrategy: false as const,
    },
  });
  // The command in progress fails too.
  client.on('error', () => undefined);
  return client;
}

/** Connects in the background. A connection without responses, or whose responses are garbled, is replaced. */
export function openLink(address: string, options: LinkOptions): Link {
  const { role, log, timing } = options;
  const client = createNodeClient(address, options);
  const about = options.target.kind === 'single' ? { role } : { role, node: address };
  let reported = false;
  const report = (error: unknown): void => {
    if (!reported) log.disconnected(about, error);
    reported = true;
  };
  const open = (): void => {
    client.connect().catch((error: unknown) => {
      if (client.isOpen) report(error);
    });
  };
  const replace = (): void => {
    client.destroy();
    open();
  };
  client.on('error', (error) => {
    report(error);
    // The client fails to read a SUNSUBSCRIBE that the server sends beside a SSUBSCRIBE in progress, and then drops data.
    if (error instanceof TypeError && client.isReady) replace();
  });
  client.on('ready', () => {
    if (reported) log.reconnected(about);
    reported = false;
  });
  open();
  const heartbeat = startHeartbeat({
    connected: () => client.isReady,
    ping: () => client.ping(),
    replace() {
      log.unresponsive(about);
      reported = true;
      replace();
    },
    intervalMs: timing.heartbeatMs,
    deadlineMs: timing.answerDeadlineMs,
  });
  const closing = new AbortController();
  return {
    address,
    client,
    closed: closing.signal,
    replace() {
      reported = true;
      replace();
    },
    async close() {
      heartbeat.stop();
      closing.abort();
      if (client.isReady) {
        const force = setTimeout(() => client.destroy(), CLOSE_DEADLINE_MS);
        await client.close();
        clearTimeout(force);
      } else if (client.isOpen) client.destroy();
    },
  };
}
