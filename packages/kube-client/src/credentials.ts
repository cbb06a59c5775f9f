import type { AgentOptions, RequestOptions } from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { ConfigError } from '@uswarm/service-kit';
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from 'undici';

/** API server address, authentication and connections. */
export interface Credentials {
  readonly server: string;
  readonly dispatcher: Dispatcher;
  /** The headers that authenticate a request. Projected tokens are reloaded when they rotate. */
  headers(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

/** Converts Node.js TLS options for undici. */
type ConnectTo = buildConnector.BuildOptions;

/** Keep-alive in milliseconds; longer than the retry period of leader election. */
const KEEP_ALIVE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Milliseconds for which credentials from files are cached. */
const FRESH_MS = 10_000;

/**
 * Creates one connection pool for all requests; with HTTP/1.1, each watch has its own connection. The client library
 * would create a new agent, and therefore a new TLS handshake, per request.
 *
 * @throws ConfigError if the kubeconfig is unusable
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
