import { createECDH, createPublicKey, type ECDH, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { decryptPayload } from './encrypted-payload.js';

/** A message that a browser has received. */
export interface ReceivedWebPush {
  endpoint: string;
  /** Decrypted. */
  payload: Record<string, unknown>;
  ttlS: number;
  urgency: string | undefined;
  topic: string | undefined;
  /** By which the operator can be reached. */
  contact: string;
}

/** Faults. `hang`: no answer follows after a message was accepted. */
export type WebPushFault = { status: number; headers?: Record<string, string>; body?: string } | 'lose-answer' | 'hang';

/** Subscription that a browser gives to its page. */
export interface BrowserSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export interface WebPushServer {
  /** The base URL, without a slash at the end. */
  url: string;
  /** The accepted messages, in order. */
  received: readonly ReceivedWebPush[];
  /** Subscribes a browser. @param applicationServerKey only this server may send */
  subscribe(applicationServerKey?: string): BrowserSubscription;
  /** Ends a subscription: its endpoint no longer exists. */
  unsubscribe(endpoint: string): void;
  /** Faults for the next messages, in order. */
  failNext(fault: WebPushFault): void;
  close(): Promise<void>;
}

interface Subscription {
  pair: ECDH;
  auth: Buffer;
  applicationServerKey: string | undefined;
}

const MAX_BYTES = 4_096;
const MAX_LIFETIME_S = 24 * 3_600;

class Refusal extends Error {
  override name = 'Refusal';
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/**
 * Starts a browser push service: RFC 8030, with encrypted payloads (RFC 8291) from a known application server (RFC
 * 8292).
 */
export async function startWebPushServer(): Promise<WebPushServer> {
  const subscriptions = new Map<string, Subscription>();
  const gone = new Set<string>();
  const received: ReceivedWebPush[] = [];
  const faults: WebPushFault[] = [];

  function accept(incoming: IncomingMessage, body: Buffer, sender: VapidSender): ReceivedWebPush {
    const endpoint = `${url}${incoming.url}`;
    if (gone.has(endpoint)) throw new Refusal(410, 'push subscription has unsubscribed or expired.');
    const subscription = subscriptions.get(endpoint);
    if (subscription === undefined) throw new Refusal(404, 'A valid push subscription endpoint should be specified.');
    const { applicationServerKey: expected } = subscription;
    if (expected !== undefined && expected !== sender.publicKey)
      throw new Refusal(403, 'the VAPID credentials do not correspond to those of the subscription.');
    const { ttl, topic, urgency } = headersOf(incoming);
    if (incoming.headers['content-encoding'] !== 'aes128gcm') throw new Refusal(415, 'expected aes128gcm');
    if (body.length > MAX_BYTES) throw new Refusal(413, 'the payload is too large');
    const payload = JSON.parse(decryptPayload(body, subscription.pair, subscription.auth)) as Record<string, unknown>;
    return { endpoint, payload, ttlS: ttl, urgency, topic, contact: sender.contact };
  }

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    if (incoming.method !== 'POST') throw new Refusal(405, 'expected POST');
    const sender = await senderOf(incoming.headers.authorization ?? '', url);
    const fault = faults.shift();
    if (typeof fault === 'object') throw new Refusal(fault.status, fault.body ?? 'failed', fault.headers);
    received.push(accept(incoming, body, sender));
    if (fault === 'lose-answer') response.destroy();
    else if (fault !== 'hang') response.writeHead(201, { location: `${url}/message/${received.length}` }).end();
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => {
      const { status, headers, message } = error instanceof Refusal ? error : new Refusal(400, String(error));
      response.writeHead(status, headers).end(message);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    subscribe(applicationServerKey) {
      const pair = createECDH('prime256v1');
      pair.generateKeys();
      const auth = randomBytes(16);
      const endpoint = `${url}/push/${randomBytes(16).toString('base64url')}`;
      subscriptions.set(endpoint, { pair, auth, applicationServerKey });
      return {
        endpoint,
        keys: { p256dh: pair.getPublicKey('base64url'), auth: auth.toString('base64url') },
      };
    },
    unsubscribe: (endpoint) => void gone.add(endpoint),
    failNext: (fault) => void faults.push(fault),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

interface VapidSender {
  /** As base64url. */
  publicKey: string;
  contact: string;
}

/** Checks `Authorization: vapid t=<JWT>, k=<public key>`. */
async function senderOf(authorization: string, audience: string): Promise<VapidSender> {
  const { t: token = '', k: publicKey = '' } = Object.fromEntries(
    authorization
      .replace(/^vapid /i, '')
      .split(',')
      .map((part) => part.trim().split(/=(.*)/s, 2)),
  ) as Record<string, string>;
  const point = Buffer.from(publicKey, 'base64url');
  if (point.length !== 65) throw new Refusal(401, 'the public key is missing');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' }, format: 'jwk' });
  const { payload } = await jwtVerify(token, key, {
    algorithms: ['ES256'],
    audience,
    requiredClaims: ['exp', 'sub'],
  }).catch((error: unknown) => {
    throw new Refusal(403, `invalid JWT: ${String(error)}`);
  });
  if ((payload.exp ?? 0) > Date.now() / 1_000 + MAX_LIFETIME_S) throw new Refusal(403, 'the lifetime is too long');
  if (!/^(mailto:|https:)/.test(payload.sub ?? '')) throw new Refusal(403, 'sub must be a mailto: or https: URL');
  return { publicKey, contact: payload.sub ?? '' };
}

function headersOf({ headers }: IncomingMessage) {
  const [ttl, topic, urgency] = [headers['ttl'], headers['topic'], headers['urgency']].map((value) =>
    typeof value === 'string' ? value : undefined,
  );
  if (ttl === undefined || !/^\d+$/.test(ttl)) throw new Refusal(400, 'TTL is missing');
  if (topic !== undefined && !/^[\w-]{1,32}$/.test(topic)) throw new Refusal(400, 'Topic is not valid');
  if (urgency !== undefined && !/^(very-low|low|normal|high)$/.test(urgency))
    throw new Refusal(400, 'Urgency is not valid');
  return { ttl: Number(ttl), topic, urgency };
}
