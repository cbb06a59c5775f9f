import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose';
import { z } from 'zod';
import { BadRequest, readDescription } from './discovery.js';

/** A notification that the server has accepted. */
export interface SentPush {
  token: string;
  /** Null: the app receives only the data. */
  notification: { title: string; body: string } | null;
  data: Record<string, string>;
  /** The numbers on the icon on Android and Apple. */
  badges: (number | undefined)[];
  /** Apple delivers it to the app in the background. */
  isBackground: boolean;
  /** The collapse keys of Android, Apple and browsers. */
  collapseKeys: string[];
  /** Until when Apple keeps it for a device without a connection, in seconds of Unix time. */
  expiresAtS: number;
}

/**
 * The answer to a request: an HTTP status, Firebase's error code, and headers. `lose-answer`: the connection breaks after the
 * notification was accepted. `hang`: no response follows after it was accepted.
 */
export type PushFault = { status: number; code: string; headers?: Record<string, string> } | 'lose-answer' | 'hang';

export interface PushServer {
  /** The base URL, without a slash at the end. */
  url: string;
  /** Key file of a service account for this server. */
  serviceAccount: string;
  /** The accepted notifications, in order. */
  sent: readonly SentPush[];
  /** Number of issued access tokens. */
  issued(): number;
  /** Refuses a token that Firebase never issued. */
  invalidate(token: string): void;
  /** Forgets a device's registration. */
  unregister(token: string): void;
  /** Faults for the next requests, in order; for one device if its token is given. */
  failNext(fault: PushFault, token?: string): void;
  /** Makes all issued access tokens invalid. */
  revokeAccess(): void;
  close(): Promise<void>;
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const LIFETIME_S = 3_600;
const MAX_PAYLOAD_BYTES = 4_096;
const PROJECT = 'test-project';
const RESERVED = /^(from|message_type|google\..*|gcm\..*)$/;

/** The rules of Firebase's documentation for messages that uswarm sends. */
const Message = z.object({
  message: z.object({
    token: z.string().min(1),
    notification: z.object({ title: z.string().min(1), body: z.string().min(1) }).optional(),
    data: z.record(
      z.string().refine((key) => !RESERVED.test(key), 'is a reserved key'),
      z.string(),
    ),
    android: z.object({
      collapseKey: z.string(),
      ttl: z.string().regex(/^\d+(\.\d+)?s$/),
      notification: z.object({ notificationCount: z.int().nonnegative() }).optional(),
    }),
    apns: z.object({
      headers: z.object({
        'apns-collapse-id': z.string().max(64),
        'apns-expiration': z.string().regex(/^\d+$/),
        'apns-push-type': z.enum(['alert', 'background']),
      }),
      payload: z.object({
        aps: z.object({ badge: z.int().nonnegative().optional(), 'content-available': z.literal(1).optional() }),
      }),
    }),
    webpush: z.object({
      headers: z.object({ Topic: z.string().regex(/^[\w-]{1,32}$/), TTL: z.string().regex(/^\d+$/) }),
    }),
  }),
});

/** A message that is only checked. */
const ValidateOnly = z.object({ validateOnly: z.literal(true), message: z.object({ token: z.string().min(1) }) });

class FcmError extends Error {
  override name = 'FcmError';
  readonly fault: Exclude<PushFault, string>;

  constructor(fault: Exclude<PushFault, string>, message: string) {
    super(message);
    this.fault = fault;
  }
}

const invalid = (message: string): FcmError => new FcmError({ status: 400, code: 'INVALID_ARGUMENT' }, message);

/**
 * Starts a server with the token endpoint of Google and Firebase Cloud Messaging (HTTP v1).
 *
 * @param options.publicUrl the address that clients use. Default: the one on this machine
 */
export async function startPushServer({ publicUrl }: { publicUrl?: string } = {}): Promise<PushServer> {
  const description = readDescription('fcm-v1.json');
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const clientEmail = `sender@${PROJECT}.iam.gserviceaccount.com`;
  const sent: SentPush[] = [];
  const valid = new Set<string>();
  const unregistered = new Set<string>();
  const invalidTokens = new Set<string>();
  const faults: { fault: PushFault; token: string | undefined }[] = [];
  let issued = 0;

  async function issueToken(body: string): Promise<unknown> {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== GRANT) throw new BadRequest(400, 'unsupported_grant_type', 'Invalid grant_type');
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', publicKey, {
      algorithms: ['RS256'],
      issuer: clientEmail,
      audience: `${publicUrl ?? url}/token`,
      requiredClaims: ['iat', 'exp'],
    }).catch((error: unknown) => {
      throw new BadRequest(400, 'invalid_grant', `Invalid JWT: ${String(error)}`);
    });
    if (protectedHeader.kid !== 'test-key') throw new BadRequest(400, 'invalid_grant', 'Invalid JWT: unknown key');
    if ((payload.exp ?? 0) - (payload.iat ?? 0) > LIFETIME_S)
      throw new BadRequest(400, 'invalid_grant', 'Invalid JWT: the lifetime is too long');
    if (payload['scope'] !== SCOPE) throw new BadRequest(400, 'invalid_scope', 'Invalid OAuth scope');
    issued += 1;
    const accessToken = `access-${issued}-${crypto.randomUUID()}`;
    valid.add(accessToken);
    return { access_token: accessToken, expires_in: LIFETIME_S - 1, token_type: 'Bearer' };
  }

  function parseMessage(body: string): z.output<typeof Message>['message'] & { bytes: number } {
    const { data, error } = Message.safeParse(JSON.parse(body));
    if (data === undefined) throw invalid(error.message);
    const { notification, data: values } = data.message;
    return { ...data.message, bytes: Buffer.byteLength(JSON.stringify({ notification, data: values })) };
  }

  /** @throws FcmError if the request does not match the API description */
  function described(incoming: IncomingMessage, body: string) {
    try {
      return description.match(incoming.method ?? '', new URL(incoming.url ?? '', url), JSON.parse(body));
    } catch (error) {
      throw error instanceof BadRequest ? invalid(error.message) : error;
    }
  }

  /** @throws FcmError unless the token belongs to a registered device */
  function checkToken(token: string): void {
    if (invalidTokens.has(token)) throw invalid('The registration token is not a valid FCM registration token');
    if (unregistered.has(token))
      throw new FcmError({ status: 404, code: 'UNREGISTERED' }, 'Requested entity was not found.');
  }

  function accept(incoming: IncomingMessage, body: string): { body: unknown } | 'lose-answer' | 'hang' {
    const accessToken = /^Bearer (\S+)$/.exec(incoming.headers.authorization ?? '')?.[1] ?? '';
    if (!valid.has(accessToken)) throw new FcmError({ status: 401, code: '' }, 'Request had invalid credentials.');
    const request = described(incoming, body);
    if (request?.path['projectsId'] !== PROJECT) throw new FcmError({ status: 404, code: '' }, 'Not found.');
    const checked = ValidateOnly.safeParse(JSON.parse(body)).data;
    if (checked !== undefined) {
      checkToken(checked.message.token);
      return { body: { name: `projects/${PROJECT}/messages/fake_message_id` } };
    }
    const { token, notification, data, android, apns, webpush, bytes } = parseMessage(body);
    if (bytes > MAX_PAYLOAD_BYTES) throw invalid('the payload is too large');
    const at = faults.findIndex((next) => next.token === undefined || next.token === token);
    const fault = at < 0 ? undefined : faults.splice(at, 1)[0]?.fault;
    if (typeof fault === 'object') throw new FcmError(fault, 'The request failed.');
    checkToken(token);
    const collapseKeys = [android.collapseKey, apns.headers['apns-collapse-id'], webpush.headers.Topic];
    sent.push({
      token,
      notification: notification ?? null,
      data,
      badges: [android.notification?.notificationCount, apns.payload.aps.badge],
      isBackground: apns.headers['apns-push-type'] === 'background' && apns.payload.aps['content-available'] === 1,
      collapseKeys,
      expiresAtS: Number(apns.headers['apns-expiration']),
    });
    return fault ?? { body: { name: `projects/${PROJECT}/messages/${sent.length}` } };
  }

  async function respond(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(incoming);
    const isToken = incoming.method === 'POST' && incoming.url === '/token';
    const answer = isToken ? { body: await issueToken(body) } : accept(incoming, body);
    if (answer === 'lose-answer') response.destroy();
    else if (answer !== 'hang') sendJson(response, 200, answer.body);
  }

  const server = createServer((incoming, response) => {
    respond(incoming, response).catch((error: unknown) => {
      if (error instanceof FcmError) sendFcmError(response, error);
      else if (error instanceof BadRequest)
        sendJson(response, error.status, { error: error.reason, error_description: error.message });
      else response.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    serviceAccount: JSON.stringify({
      type: 'service_account',
      project_id: PROJECT,
      private_key_id: 'test-key',
      private_key: await exportPKCS8(privateKey),
      client_email: clientEmail,
      token_uri: `${publicUrl ?? url}/token`,
    }),
    sent,
    issued: () => issued,
    invalidate: (token) => void invalidTokens.add(token),
    unregister: (token) => void unregistered.add(token),
    failNext: (fault, token) => void faults.push({ fault, token }),
    revokeAccess: () => valid.clear(),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers })
    .end(JSON.stringify(body));
}

/** HTTP status names in Google's errors. */
const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

function sendFcmError(response: ServerResponse, { fault: { status, code, headers }, message }: FcmError): void {
  const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: code }];
  const error = {
    code: status,
    message,
    status: STATUS_NAMES[status] ?? 'UNKNOWN',
    ...(code === '' ? {} : { details }),
  };
  sendJson(response, status, { error }, headers);
}
