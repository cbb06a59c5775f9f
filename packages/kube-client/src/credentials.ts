import type { AgentOptions, RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { ConfigError } from '@uswarm/service-kit';
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from 'undici';

/** How to reach the API server: where it is, as whom, and over which connections. */
export interface Credentials {
  readonly server: string;
  readonly dispatcher: Dispatcher;
  /** What authenticates a request; projected tokens are read anew as they rotate. */
  headers(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

/** How undici says what the client library says with the types of Node. */
type ConnectTo = buildConnector.BuildOptions;

/** Milliseconds that an idle connection is kept: longer than the pause between two renewals of the lease. */
const KEEP_ALIVE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Milliseconds for which what was read from files is used again. */
const FRESH_MS = 10_000;

/**
 * One pool of connections for all requests; HTTP/1.1 gives each watch one of its own. The requests of
 * the client library itself make a new agent, and so a new TLS handshake, each.
 *
 * @throws ConfigError for a kubeconfig that leads nowhere
 */
export async function createCredentials(config: KubeConfig): Promise<Credentials> {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new ConfigError('the kubeconfig has no current cluster');
  const tls: RequestOptions = {};
  await config.applyToHTTPSOptions(tls);
  const options = config.createDispatcherOptions(cluster, tls as AgentOptions);
  if (options.type === 'socks') throw new ConfigError('the kubeconfig names a SOCKS proxy, which is not supported');
  const connect = { ...(options.type === 'none' ? {} : options.connect), timeout: CONNECT_TIMEOUT_MS } as ConnectTo;
  const dispatcher =
    options.type === 'proxy'
      ? new ProxyAgent({
          uri: options.uri,
          requestTls: options.requestTls as ConnectTo,
          connect,
          keepAliveTimeout: KEEP_ALIVE_MS,
        })
      : new Agent({ connect, keepAliveTimeout: KEEP_ALIVE_MS });
  let cached: { headers: Record<string, string>; at: number } | undefined;
  return {
    server: cluster.server.replace(/\/$/, ''),
    dispatcher,
    async headers() {
      const now = performance.now();
      if (cached === undefined || now - cached.at > FRESH_MS)
        cached = { headers: await authentication(config), at: now };
      return cached.headers;
    },
    close: () => dispatcher.destroy(),
  };
}

async function authentication(config: KubeConfig): Promise<Record<string, string>> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value);
  if (typeof options.auth === 'string') {
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  return headers;
}
