import {
  ApiError,
  AuthenticateBody,
  INTERNAL_PATHS,
  LIMITS,
  SendBody,
  SessionsBody,
  SubscriptionsBody,
  type AuthenticateAnswer,
  type SendAnswer,
  type SessionsAnswer,
  type SubscriptionsAnswer,
} from '@uswarm/contract';
import { type Logger, type SigningKey, TokenError, verifyInternalToken } from '@uswarm/service-kit';
import express, { type Express, type Request, type RequestHandler, type Router } from 'express';
import type { Authenticator } from '../features/auth/authenticator.js';
import { bearerToken } from '../features/auth/credentials.js';
import type { SessionStore } from '../features/auth/sessions.store.js';
import type { MessageService } from '../features/messages/messages.service.js';
import type { RateLimits } from '../features/rate-limits/rate-limits.js';
import type { UserStore } from '../features/users/users.store.js';
import type { WorkspaceService } from '../features/workspaces/workspaces.service.js';
import { createErrorHandler } from './errors.js';
import { isId } from './id.js';
import { parseInput } from './input.js';

export interface InternalAppDeps {
  keys: readonly SigningKey[];
  authenticator: Authenticator;
  /** What operators use; undefined where nobody has a key for it. */
  adminRouter: Router | undefined;
  users: Pick<UserStore, 'isBanned'>;
  sessions: Pick<SessionStore, 'ended'>;
  workspaces: Pick<WorkspaceService, 'subscriptions'>;
  messages: Pick<MessageService, 'send'>;
  /** How logs name an address. */
  sourceName: (address: string) => string;
  rates: Pick<RateLimits, 'request' | 'socketCall'>;
  requestContext: RequestHandler;
  logger: Logger;
}

/** The internal API: what gateways ask, each call with a service token that names the user. */
export function createInternalApp(deps: InternalAppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(deps.requestContext);
  if (deps.adminRouter !== undefined) app.use(deps.adminRouter);
  app.use(express.json({ limit: LIMITS.bodyBytes * 2 }));

  app.post(INTERNAL_PATHS.authenticate, named('internalAuthenticate'), async (request, response) => {
    await subject(request, deps.keys);
    const { credentials } = parseInput(AuthenticateBody, request.body);
    // Whom the gateway speaks for, in its own words.
    const address = request.get('x-forwarded-for');
    if (address !== undefined) await deps.rates.request(address);
    const source = address === undefined ? null : deps.sourceName(address);
    const caller = { via: 'socket', source } as const;
    const { userId, identity, session } = await deps.authenticator.authenticate(credentials, 'user', caller);
    response.json({
      user_id: userId,
      expires_at: identity.expiresAt?.toISOString() ?? null,
      token_hash: session.tokenHash?.toString('hex') ?? null,
      issued_at: identity.issuedAt?.toISOString() ?? null,
    } satisfies AuthenticateAnswer);
  });

  app.post(INTERNAL_PATHS.subscriptions, named('internalSubscriptions'), async (request, response) => {
    const userId = await user(request, deps);
    const { workspace_ids } = parseInput(SubscriptionsBody, request.body);
    response.json((await deps.workspaces.subscriptions(userId, workspace_ids)) satisfies SubscriptionsAnswer);
  });

  app.post(INTERNAL_PATHS.send, named('internalSend'), async (request, response) => {
    const userId = await user(request, deps);
    const { workspace_id, conversation_id, local_id, ...draft } = parseInput(SendBody, request.body);
    for (const [id, code] of [
      [workspace_id, 'workspace_not_found'],
      [conversation_id, 'conversation_not_found'],
    ] as const) {
      if (!isId(id)) throw new ApiError(code);
    }
    const target = { userId, workspaceId: workspace_id, conversationId: conversation_id, localId: local_id };
    const message = await deps.messages.send(target, draft);
    response.json({ message_id: message.id } satisfies SendAnswer);
  });

  app.post(INTERNAL_PATHS.sessions, named('internalSessions'), async (request, response) => {
    await subject(request, deps.keys);
    const { sessions } = parseInput(SessionsBody, request.body);
    response.json({ ended: await deps.sessions.ended(sessions) } satisfies SessionsAnswer);
  });

  app.use(() => {
    throw new ApiError('route_not_found');
  });
  app.use(createErrorHandler(deps.logger));
  return app;
}

/** What the request is called in logs and metrics. */
const named =
  (operationId: string): RequestHandler =>
  (_request, response, next) => {
    response.locals['route'] = { operationId };
    next();
  };

/**
 * The user that the token speaks for; a token of the service itself speaks for none. A socket may
 * have been open for long: whether the user may still do anything is asked each time.
 */
async function user(request: Request, deps: Pick<InternalAppDeps, 'keys' | 'users' | 'rates'>): Promise<string> {
  const userId = await subject(request, deps.keys);
  if (!isId(userId)) throw new ApiError('token_invalid');
  // Before any query: a subscribe, and a send that was stored already, are counted by nothing else.
  await deps.rates.socketCall(userId);
  const banned = await deps.users.isBanned(userId);
  if (banned === undefined) throw new ApiError('user_deleted');
  if (banned) throw new ApiError('user_banned');
  return userId;
}

async function subject(request: Request, keys: readonly SigningKey[]): Promise<string> {
  try {
    return await verifyInternalToken(keys, bearerToken(request.get('authorization')) ?? '');
  } catch (error) {
    throw error instanceof TokenError ? new ApiError('token_invalid', { cause: error }) : error;
  }
}
