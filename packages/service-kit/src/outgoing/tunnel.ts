import type { Duplex } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import type { ProxyServer } from './proxy.js';

/** The proxy did not connect, so that the request was not sent. The message contains no credentials. */
class ProxyFailure extends Error {
  override name = 'ProxyFailure';
  readonly code: 'PROXY_UNREACHABLE' | 'PROXY_AUTHENTICATION' | 'PROXY_REFUSED';

  constructor(code: ProxyFailure['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type ConnectOptions = Omit<Dispatcher.ConnectOptions, 'origin'>;
type ConnectData = Dispatcher.ConnectData<null>;

const PROXY_AUTHENTICATION_REQUIRED = 407;

/** Opens tunnels through a proxy. A tunnel takes its connection out of the pool. */
export class TunnelPool extends Pool {
  readonly #origin: string;

  /** @param timeoutMs milliseconds to connect to the proxy, and then for its answer */
  constructor(origin: string, timeoutMs: number) {
    super(origin, {
      connect: { timeout: timeoutMs, allowH2: false },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    this.#origin = origin;
  }

  override connect(options: ConnectOptions): Promise<ConnectData>;
  override connect(options: ConnectOptions, callback: (error: Error | null, data: ConnectData) => void): void;
  override connect(
    options: ConnectOptions,
    callback?: (error: Error | null, data: ConnectData) => void,
  ): Promise<ConnectData> | void {
    // ProxyAgent uses promises.
    return callback === undefined ? this.#open(options) : super.connect(options, callback);
  }

  async #open(options: ConnectOptions): Promise<ConnectData> {
    const data = await super.connect(options).catch((cause: unknown) => {
      throw new ProxyFailure('PROXY_UNREACHABLE', `the proxy ${this.#origin} cannot be reached`, { cause });
    });
    const { statusCode, socket } = data;
    if (statusCode === 200) return data;
    socket.on('error', () => undefined).destroy();
    const text = `the proxy ${this.#origin} refused a connection to ${options.path} (status ${statusCode})`;
    const isUnknown = statusCode === PROXY_AUTHENTICATION_REQUIRED;
    throw new ProxyFailure(isUnknown ? 'PROXY_AUTHENTICATION' : 'PROXY_REFUSED', text);
  }
}

/** Connects to `host:port` through a proxy. @throws ProxyFailure */
export async function openTunnel(pool: TunnelPool, server: ProxyServer, target: string): Promise<Duplex> {
  const { socket } = await pool.connect({
    path: target,
    headers: { host: target, ...authorizationHeaders(server) },
  });
  return socket;
}

export const authorizationHeaders = ({ authorization }: ProxyServer): Record<string, string> =>
  authorization === undefined ? {} : { 'proxy-authorization': authorization };
