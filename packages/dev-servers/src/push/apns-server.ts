import { generateKeyPairSync } from 'node:crypto';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';

/** A notification that the server has accepted. */
export interface SentApns {
  deviceToken: string;
  id: string;
  pushType: string;
  priority: string;
  collapseId: string | undefined;
  expiresAtS: number;
  payload: Record<string, unknown>;
  httpVersion: string;
}

/** Status and reason of an answer. `hang`: no answer follows. */
export type ApnsFault = { status: number; reason: string; headers?: Record<string, string> } | 'hang';

export interface ApnsServer {
  /** The base URL, without a slash at the end. */
  url: string;
  /** PEM of the .p8 key that the server knows, with its id and team. */
  key: { key: string; keyId: string; teamId: string };
  topic: string;
  sent: readonly SentApns[];
  /** The provider tokens that it has received, each once. */
  providerTokens: ReadonlySet<string>;
  /** The app was removed from the device: 410. */
  unregister(deviceToken: string): void;
  failNext(fault: ApnsFault): void;
  close(): Promise<void>;
}

export interface ApnsServerOptions {
  /** PEM certificate for `host` and its key. */
  certificate: string;
  key: string;
  host?: string;
  now?: () => Date;
}

const KEY_ID = 'ABC123DEFG';
const TEAM_ID = 'DEF123GHIJ';
const TOPIC = 'com.example.swarm';
const MAX_PAYLOAD_BYTES = 4_096;
const MAX_COLLAPSE_BYTES = 64;
const TOKEN_LIFETIME_S = 3_600;
/** Apple's tokens have 32 bytes today. */
const DEVICE_TOKEN = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

class Refusal extends Error {
  override name = 'Refusal';
  readonly fault: Exclude<ApnsFault, string>;

  constructor(fault: Exclude<ApnsFault, string>) {
    super(fault.reason);
    this.fault = fault;
  }
}

const refuse = (status: number, reason: string): Refusal => new Refusal({ status, reason });

/** Starts a server with Apple's provider API over HTTP/2. Its checks and reasons follow Apple's documentation. */
export async function startApnsServer(options: ApnsServerOptions): Promise<ApnsServer> {
  const { certificate, key: tlsKey, host = 'localhost', now = () => new Date() } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sent: SentApns[] = [];
  const providerTokens = new Set<string>();
  const unregistered = new Set<string>();
  const faults: ApnsFault[] = [];

  async function authenticate(authorization: string): Promise<void> {
    const token = /^bearer (\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw refuse(403, 'MissingProviderToken');
    providerTokens.add(token);
    const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
      algorithms: ['ES256'],
      issuer: TEAM_ID,
      requiredClaims: ['iat'],
      currentDate: now(),
    }).catch(() => {
      throw refuse(403, 'InvalidProviderToken');
    });
    if (protectedHeader.kid !== KEY_ID) throw refuse(403, 'InvalidProviderToken');
    const age = now().getTime() / 1_000 - (payload.iat ?? 0);
    if (age > TOKEN_LIFETIME_S || age < -60) throw refuse(403, 'ExpiredProviderToken');
  }

  function accept(request: Http2ServerRequest, body: string): SentApns {
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : undefined;
    };
    const deviceToken = /^\/3\/device\/([^/]+)$/.exec(request.url)?.[1];
    if (deviceToken === undefined) throw refuse(404, 'BadPath');
    if (!DEVICE_TOKEN.test(deviceToken)) throw refuse(400, 'BadDeviceToken');
    const topic = header('apns-topic');
    if (topic === undefined) throw refuse(400, 'MissingTopic');
    if (topic !== TOPIC) throw refuse(400, 'TopicDisallowed');
    const id = header('apns-id') ?? crypto.randomUUID();
    if (!UUID.test(id)) throw refuse(400, 'BadMessageId');
    const collapseId = header('apns-collapse-id');
    if (Buffer.byteLength(collapseId ?? '') > MAX_COLLAPSE_BYTES) throw refuse(400, 'BadCollapseId');
    const expiration = header('apns-expiration') ?? '0';
    if (!/^\d+$/.test(expiration)) throw refuse(400, 'BadExpirationDate');
    if (body === '') throw refuse(400, 'PayloadEmpty');
    if (Buffer.byteLength(body) > MAX_PAYLOAD_BYTES) throw refuse(413, 'PayloadTooLarge');
    const payload = JSON.parse(body) as { aps?: Record<string, unknown> } & Record<string, unknown>;
    const [pushType = 'alert', priority = '10'] = [header('apns-push-type'), header('apns-priority')];
    const isSilent = pushType === 'background';
    if (!/^(1|5|10)$/.test(priority) || (isSilent && priority === '10')) throw refuse(400, 'BadPriority');
    const visible = ['alert', 'badge', 'sound'].filter((name) => payload.aps?.[name] !== undefined);
    if (isSilent && (visible.length > 0 || payload.aps?.['content-available'] !== 1))
      throw refuse(400, 'InvalidPushType');
    if (unregistered.has(deviceToken)) throw refuse(410, 'Unregistered');
    const { httpVersion } = request;
    return { deviceToken, id, pushType, priority, collapseId, expiresAtS: Number(expiration), payload, httpVersion };
  }

  async function respond(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const body = await text(request);
    await authenticate(request.headers.authorization ?? '');
    const fault = faults.shift();
    if (fault === 'hang') return;
    if (fault !== undefined) throw new Refusal(fault);
    const accepted = accept(request, body);
    sent.push(accepted);
    response.writeHead(200, { 'apns-id': accepted.id }).end();
  }

  // Apple speaks nothing but HTTP/2.
  const server = createSecureServer({ cert: certificate, key: tlsKey }, (request, response) => {
    respond(request, response).catch((error: unknown) => {
      const { fault } = error instanceof Refusal ? error : refuse(500, 'InternalServerError');
      const timestamp = fault.status === 410 ? { timestamp: now().getTime() } : {};
      const headers = { 'content-type': 'application/json', ...fault.headers };
      response.writeHead(fault.status, headers).end(JSON.stringify({ reason: fault.reason, ...timestamp }));
    });
  });
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    key: { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), keyId: KEY_ID, teamId: TEAM_ID },
    topic: TOPIC,
    sent,
    providerTokens,
    unregister: (deviceToken) => void unregistered.add(deviceToken),
    failNext: (fault) => void faults.push(fault),
    async close() {
      for (const session of sessions) session.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}
