import { Agent, Dispatcher, fetch, ProxyAgent, request, type RequestInit } from 'undici';
import type { OutgoingProxy, ProxyServer } from './proxy.js';
import { mayBePublic, PrivateAddress, publicLookup } from './public-address.js';
import { authorizationHeaders, TunnelPool } from './tunnel.js';

interface OutgoingOptions {
  /** Milliseconds to connect to the server, to the proxy, and to the server through the proxy. */
  connectMs?: number;
  /** Maximum connections per origin. Default: no limit. */
  connections?: number;
  /** Milliseconds until the response begins. */
  headersTimeout?: number;
  /** Milliseconds between two response parts. */
  bodyTimeout?: number;
  /**
   * For addresses that users name: only servers on the internet, and those with these host names. A proxy looks up names itself, so
   * that its rules apply to them.
   */
  publicExcept?: readonly string[];
}

type RequestOptions = Partial<Omit<Dispatcher.RequestOptions, 'origin' | 'path'>>;

/** The HTTP client for calls that leave the platform. It does not follow redirects. */
export interface Outgoing {
  request(url: string | URL, options?: RequestOptions): Promise<Dispatcher.ResponseData>;
  /** For libraries that send requests with `fetch`. */
  fetch: typeof globalThis.fetch;
  /** Waits for running requests. */
  close(): Promise<void>;
  /** Aborts running requests. */
  destroy(): Promise<void>;
}

const CONNECT_MS = 10_000;

/**
 * Each request uses the proxy for its URL. A proxy resolves names itself, so a server's address is known only for
 * direct connections.
 */
export function createOutgoing(proxy: OutgoingProxy, options: OutgoingOptions = {}): Outgoing {
  const dispatcher = new OutgoingDispatcher(proxy, options);
  return {
    request: (url, settings) => request(url, { ...settings, dispatcher }),
    fetch: (input, init) =>
      fetch(
        input as string,
        { ...init, redirect: 'manual', dispatcher } as RequestInit,
      ) as unknown as Promise<globalThis.Response>,
    close: () => dispatcher.close(),
    destroy: () => dispatcher.destroy(),
  };
}

class OutgoingDispatcher extends Dispatcher {
  readonly #proxy: OutgoingProxy;
  readonly #options: OutgoingOptions;
  readonly #direct: Agent;
  readonly #proxied = new Map<ProxyServer, ProxyAgent>();

  constructor(proxy: OutgoingProxy, options: OutgoingOptions) {
    super();
    const { connectMs = CONNECT_MS, publicExcept, ...pool } = options;
    this.#proxy = proxy;
    this.#options = options;
    const lookup = publicExcept && { lookup: publicLookup(publicExcept) };
    this.#direct = new Agent({ ...pool, connect: { timeout: connectMs, ...lookup } });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { headersTimeout, bodyTimeout, publicExcept } = this.#options;
    const origin = new URL(options.origin ?? '');
    // An IP literal is not looked up.
    if (publicExcept && !publicExcept.includes(origin.hostname) && !mayBePublic(origin.hostname))
      throw new PrivateAddress(`${origin.hostname} is a private address`);
    const server = this.#proxy.serverFor(origin);
    // The pool's limits do not apply to plain http through a proxy.
    const limited = {
      ...(headersTimeout === undefined ? {} : { headersTimeout }),
      ...(bodyTimeout === undefined ? {} : { bodyTimeout }),
      ...options,
    };
    return (server === undefined ? this.#direct : this.#through(server)).dispatch(limited, handler);
  }

  #through(server: ProxyServer): ProxyAgent {
    let agent = this.#proxied.get(server);
    if (agent === undefined) {
      const { connectMs = CONNECT_MS, publicExcept: _, ...pool } = this.#options;
      agent = new ProxyAgent({
        ...pool,
        uri: server.origin,
        headers: authorizationHeaders(server),
        proxyTls: { timeout: connectMs },
        requestTls: { timeout: connectMs },
        clientFactory: (origin) => new TunnelPool(origin.origin, connectMs),
      });
      this.#proxied.set(server, agent);
    }
    return agent;
  }

  override async close(): Promise<void> {
    await Promise.all([this.#direct, ...this.#proxied.values()].map((agent) => agent.close()));
  }

  override async destroy(): Promise<void> {
    await Promise.all([this.#direct, ...this.#proxied.values()].map((agent) => agent.destroy()));
  }
}
