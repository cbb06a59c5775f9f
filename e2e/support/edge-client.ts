import { createHmac } from 'node:crypto';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, fetch } from 'undici';
import { edgeAuthority } from './edge.js';
import { GENERATED_SECRET, HOST, NAMESPACE } from './fixtures.js';
import type { KubeApi } from './kube-api.js';
import { forwardPort } from './port-forward.js';
import { secretValue } from './secrets.js';
import type { Settings } from './settings.js';
import type { Tools } from './tools.js';

/** Platform client outside the cluster. */
export interface EdgeClient {
  url: string;
  fetch(url: string, init: { method: string; headers: Record<string, string>; body?: string }): Promise<EdgeAnswer>;
  /** Options for socket.io-client. */
  socketOptions: { agent: never };
  close(): Promise<void>;
}
export interface EdgeAnswer {
  status: number;
  text(): Promise<string>;
  /** Streamed: parts as they arrive. */
  body: AsyncIterable<Uint8Array> | null;
}

/** Sends all requests to the edge on this machine, for any host name, and trusts only its CA. */
export async function openEdgeClient(api: KubeApi, { edgePort }: Pick<Settings, 'edgePort'>): Promise<EdgeClient> {
  const ca = await edgeAuthority(api);
  const lookup: LookupFunction = (name, options, callback) => {
    const address = isIP(name) === 0 ? '127.0.0.1' : name;
    if (options.all) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
  };
  const dispatcher = new Agent({ connect: { ca, lookup } });
  const agent = new HttpsAgent({ ca, lookup, keepAlive: true });
  return {
    url: `https://${HOST}:${edgePort}`,
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    // The type of this option is for browsers; Node needs an agent.
    socketOptions: { agent: agent as never },
    close: async () => {
      agent.destroy();
      await dispatcher.close();
    },
  };
}

/** Opens a port-forward to the issuer in the cluster. */
export async function openIssuer(
  tools: Tools,
): Promise<{ issue(email: string, name?: string): Promise<string>; close(): Promise<void> }> {
  const forwarded = await forwardPort(tools, NAMESPACE.oidc, 'deployment/oidc', 8080);
  return {
    async issue(email, name = 'Ada') {
      const response = await fetch(`http://127.0.0.1:${forwarded.port}/dev/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, name }),
      });
      const body = await response.text();
      if (!response.ok) throw new Error(`the issuer returned ${response.status}: ${body}`);
      return (JSON.parse(body) as { id_token: string }).id_token;
    },
    close: () => forwarded.close(),
  };
}

/** Returns a token from the issuer in the cluster. */
export async function issueToken(tools: Tools, email: string): Promise<string> {
  const issuer = await openIssuer(tools);
  try {
    return await issuer.issue(email);
  } finally {
    await issuer.close();
  }
}

/** Creates the authentication headers: the token and its signature. */
export async function signedHeaders(api: KubeApi, token: string): Promise<() => Record<string, string>> {
  const secret = await secretValue(api, GENERATED_SECRET, 'signature-secret');
  return () => {
    const timestamp = String(Date.now());
    const signature = createHmac('sha256', secret).update(`${token}:${timestamp}`).digest('hex');
    return { 'x-token': token, 'x-timestamp': timestamp, 'x-signature': signature };
  };
}
