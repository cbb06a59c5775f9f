import { Agent as HttpAgent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { OutgoingProxy, ProxyServer } from './proxy.js';
import { openTunnel, TunnelPool } from './tunnel.js';

interface OutgoingAgents {
  httpAgent: HttpAgent;
  httpsAgent: HttpsAgent;
  close(): Promise<void>;
}

interface OutgoingAgentsOptions {
  /** Maximum connections per origin. */
  maxSockets: number;
  /** Milliseconds to connect to the proxy, and then for its answer. */
  connectMs: number;
}

type Connected = (error: Error | null, socket: Duplex) => void;

/** Agents of Node for libraries whose HTTP client cannot be replaced by `createOutgoing`. All connections through a proxy are tunnels. */
export function createOutgoingAgents(proxy: OutgoingProxy, options: OutgoingAgentsOptions): OutgoingAgents {
  const { maxSockets, connectMs } = options;
  const pools = new Map<ProxyServer, TunnelPool>();

  /** @returns undefined for a direct connection */
  function tunnelTo(scheme: 'http' | 'https', args: ClientRequestArgs): Promise<Duplex> | undefined {
    const host = args.host ?? 'localhost';
    const authority = `${host.includes(':') ? `[${host}]` : host}:${args.port ?? (scheme === 'https' ? 443 : 80)}`;
    const server = proxy.serverFor(new URL(`${scheme}://${authority}`));
    if (server === undefined) return undefined;
    const pool = pools.get(server) ?? new TunnelPool(server.origin, connectMs);
    pools.set(server, pool);
    return openTunnel(pool, server, authority);
  }

  class TunnelHttpAgent extends HttpAgent {
    override createConnection(args: ClientRequestArgs, connected?: Connected): Duplex | null | undefined {
      const tunnel = tunnelTo('http', args);
      if (tunnel === undefined) return super.createConnection(args, connected);
      tunnel.then((socket) => connected?.(null, socket), fail(connected));
      return undefined;
    }
  }

  class TunnelHttpsAgent extends HttpsAgent {
    override createConnection(args: RequestOptions, connected?: Connected): Duplex | null | undefined {
      const tunnel = tunnelTo('https', args);
      if (tunnel === undefined) return super.createConnection(args, connected);
      const secure = (socket: Duplex): void => {
        const secured = super.createConnection({ ...args, socket } as RequestOptions);
        if (secured) connected?.(null, secured);
      };
      tunnel.then(secure, fail(connected));
      return undefined;
    }
  }

  const agentOptions: AgentOptions = { keepAlive: true, maxSockets };
  return {
    httpAgent: new TunnelHttpAgent(agentOptions),
    httpsAgent: new TunnelHttpsAgent(agentOptions),
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

const fail =
  (connected: Connected | undefined) =>
  (error: Error): void =>
    connected?.(error, undefined as never);
