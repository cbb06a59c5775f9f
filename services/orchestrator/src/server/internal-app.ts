import {
  ApiError,
  AuthenticateBody,
  BUS_VERSION_HEADER,
  DevicePositionsBody,
  EventsBody,
  GATEWAY_ID_HEADER,
  INTERNAL_PATHS,
  LIMITS,
  PositionsBody,
  SEND_DEADLINE_HEADER,
  SendBody,
  SessionsBody,
  SubscriptionsBody,
  type AuthenticateAnswer,
  type EventsAnswer,
  type PositionsAnswer,
  type SendAnswer,
  type SessionsAnswer,
  type SubscriptionsAnswer,
} from '@uswarm/contract';
import { inSpan, type Logger, requireUtf8, type SigningKey } from '@uswarm/service-kit';
import express, { type Express, type Request, type RequestHandler, type Router } from 'express';
import { isId } from '../platform/database/id.js';
import type { Authenticator } from '../accounts/auth/authenticator.js';
import { findEndedSessions } from '../accounts/auth/sessions.store.js';
import type { DeviceService } from '../accounts/devices/devices.service.js';
import type { ReadEventPage } from '../events/event-pages.js';
import type { Gateways } from '../events/gateways.js';
import type { SubscriptionService } from '../events/subscriptions.service.js';
import type { MessageService } from '../chat/messages.service.js';
import { createSendDeadline } from '../platform/http/send-deadline.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import { clientGone } from '../platform/http/client-gone.js';
import { answerSlowBodies, createErrorHandler } from '../platform/http/errors.js';
import { parseInput } from '../platform/http/input.js';
import { serviceTokenSubject } from '../platform/http/service-token.js';
import type { Database } from '../platform/database/database.js';

export interface InternalAppDeps {
  keys: readonly SigningKey[];
  gateways: Pick<Gateways, 'announced'>;
  authenticator: Authenticator;
  /** Admin API routes; undefined if neither an operator key nor an issuer of operators is configured. */
  adminRouter: Router | undefined;
  modelCallRouter: Router;
  users: { isBanned(userId: string): Promise<boolean | undefined> };
  database: Database;
  devices: Pick<DeviceService, 'setPositions'>;
  subscriptions: SubscriptionService;
  readEventPage: ReadEventPage;
  messages: Pick<MessageService, 'send'>;
  /** Formats an address for logs. */
  sourceName: (address: string) => string;
  rates: Pick<RateLimits, 'request' | 'socketCall'>;
  requestContext: RequestHandler;
  logger: Logger;
}

/** The internal API for gateways. Each call has a service token that names the user. */
export function createInternalApp(deps: InternalAppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(deps.requestContext);
  app.use(answerSlowBodies);
  if (deps.adminRouter !== undefined) app.use(deps.adminRouter);
  app.use(express.json({ limit: LIMITS.bodyBytes * 2, verify: requireUtf8 }));

  app.post(INTERNAL_PATHS.authenticate, named('internalAuthenticate'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    const { credentials, api_tokens: keepsAccess } = parseInput(AuthenticateBody, request.body);
    // The client address that the gateway reports.
    const address = request.get('x-forwarded-for');
    if (address !== undefined) await deps.rates.request(address);
    const source = address === undefined ? null : deps.sourceName(address);
    const caller = { via: 'socket', source } as const;
    const { userId, identity, session, access } = await deps.authenticator.authenticate(credentials, 'user', caller);
    // Another gateway, of this release, accepts the client.
    if (access !== null && keepsAccess !== true) throw new ApiError('service_unavailable');
    response.json({
      user_id: userId,
      expires_at: identity.expiresAt?.toISOString() ?? null,
      expires_in_ms: identity.expiresAt === null ? null : identity.expiresAt.getTime() - Date.now(),
      token_hash: session.tokenHash?.toString('hex') ?? null,
      issued_at: identity.issuedAt?.toISOString() ?? null,
      access,
    } satisfies AuthenticateAnswer);
  });

  app.post(INTERNAL_PATHS.subscriptions, named('internalSubscriptions'), async (request, response) => {
    const userId = await user(request, deps);
    const { workspace_ids } = parseInput(SubscriptionsBody, request.body);
    response.json((await deps.subscriptions.subscriptions(userId, workspace_ids)) satisfies SubscriptionsAnswer);
  });

  app.post(INTERNAL_PATHS.send, named('internalSend'), async (request, response) => {
    const deadline = createSendDeadline(deadlineMs(request), clientGone(response));
    const userId = await userOfToken(request, deps);
    const { workspace_id, conversation_id, local_id, ...draft } = parseInput(SendBody, request.body);
    for (const [id, code] of [
      [workspace_id, 'workspace_not_found'],
      [conversation_id, 'conversation_not_found'],
    ] as const) {
      if (!isId(id)) throw new ApiError(code);
    }
    const target = { userId, workspaceId: workspace_id, conversationId: conversation_id, localId: local_id };
    // The caller is a gateway: its token was checked above.
    const message = await inSpan('internalSend', { parent: request.headers }, () =>
      deps.messages.send(target, draft, deadline),
    ).catch(async (error: unknown) => {
      // Also the error for a user that does not exist.
      if (error instanceof ApiError && error.code === 'workspace_not_found') await requireActive(userId, deps);
      throw error;
    });
    response.json({ message_id: message.id } satisfies SendAnswer);
  });

  app.post(INTERNAL_PATHS.sessions, named('internalSessions'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    const { sessions } = parseInput(SessionsBody, request.body);
    response.json({ ended: await findEndedSessions(deps.database, sessions) } satisfies SessionsAnswer);
  });

  app.post(INTERNAL_PATHS.devicePositions, named('internalDevicePositions'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    await deps.devices.setPositions(parseInput(DevicePositionsBody, request.body).positions);
    response.json({});
  });

  app.post(INTERNAL_PATHS.positions, named('internalPositions'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    const { workspace_ids } = parseInput(PositionsBody, request.body);
    response.json((await deps.subscriptions.positions(workspace_ids)) satisfies PositionsAnswer);
  });

  app.post(INTERNAL_PATHS.events, named('internalEvents'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    const { workspace_id, after, max_bytes } = parseInput(EventsBody, request.body);
    response.json((await deps.readEventPage(workspace_id, after, max_bytes)) satisfies EventsAnswer);
  });

  app.post(INTERNAL_PATHS.serviceToken, named('internalServiceToken'), async (request, response) => {
    await gatewayTokenSubject(request, deps);
    response.json({});
  });

  app.use(deps.modelCallRouter);
  app.use(() => {
    throw new ApiError('route_not_found');
  });
  app.use(createErrorHandler(deps.logger));
  return app;
}

/** Sets the route name for logs and metrics. */
const named =
  (operationId: string): RequestHandler =>
  (_request, response, next) => {
    response.locals['route'] = { operationId };
    next();
  };

/** Returns the gateway token's subject, and records what the gateway announces. @throws ApiError `token_invalid` */
async function gatewayTokenSubject(
  request: Request,
  { keys, gateways }: Pick<InternalAppDeps, 'keys' | 'gateways'>,
): Promise<string> {
  const subject = await serviceTokenSubject(request, keys);
  gateways.announced({ id: request.get(GATEWAY_ID_HEADER), busVersion: request.get(BUS_VERSION_HEADER) });
  return subject;
}

/**
 * Returns the token's user and checks in each call that the user is not banned: a socket can be open for long. The
 * service's own tokens name no user.
 */
async function user(
  request: Request,
  deps: Pick<InternalAppDeps, 'keys' | 'gateways' | 'users' | 'rates'>,
): Promise<string> {
  const userId = await userOfToken(request, deps);
  await requireActive(userId, deps);
  return userId;
}

async function userOfToken(
  request: Request,
  deps: Pick<InternalAppDeps, 'keys' | 'gateways' | 'rates'>,
): Promise<string> {
  const userId = await gatewayTokenSubject(request, deps);
  if (!isId(userId)) throw new ApiError('token_invalid');
  // Before any query: no other limit counts subscribes, or a stored message's retries.
  await deps.rates.socketCall(userId);
  return userId;
}

/** @throws ApiError `user_deleted`, `user_banned` */
async function requireActive(userId: string, deps: Pick<InternalAppDeps, 'users'>): Promise<void> {
  const banned = await deps.users.isBanned(userId);
  if (banned === undefined) throw new ApiError('user_deleted');
  if (banned) throw new ApiError('user_banned');
}

/** For gateways from release 0.2, which give up after this time. */
const DEADLINE_MS = 5_000;

function deadlineMs(request: Request): number {
  const ms = Number(request.get(SEND_DEADLINE_HEADER) ?? DEADLINE_MS);
  return Number.isFinite(ms) ? Math.min(ms, DEADLINE_MS) : DEADLINE_MS;
}
