import { type ClientAddress, type Logger, transportSecurity } from '@uswarm/service-kit';
import { allowOrigins } from '@uswarm/service-kit/cors';
import express, { type Express, type Request, type RequestHandler } from 'express';
import { allowedMethods, ApiError } from '@uswarm/contract';
import type { UserActor } from '../accounts/auth/actor.js';
import type { Authenticator } from '../accounts/auth/authenticator.js';
import { readCredentials } from '../platform/http/credentials.js';
import type { IdentityHash } from '../accounts/auth/identity-hash.js';
import type { RateLimits } from '../platform/rate-limits/rate-limits.js';
import { compressJson } from '../platform/http/compression.js';
import { answerSlowBodies, createErrorHandler } from '../platform/http/errors.js';
import type { Handlers } from '../platform/http/handlers.js';
import type { PageSettings } from '../platform/http/page-settings.js';
import { limitAddresses, limitCaller } from '../platform/http/rate-limit.js';
import { referencePages } from '../platform/http/reference-pages.js';
import { userPage } from '../platform/http/user-page.js';
import { type Authenticate, createRoutes, type PermitRequest, type ReadPosition } from '../platform/http/routes.js';
import type { Doors } from '../doors/doors.module.js';

export interface AppDeps {
  authenticator: Authenticator;
  handlers: Handlers;
  permit: PermitRequest;
  doors: Doors;
  readPosition: ReadPosition;
  rates: RateLimits;
  addressOf: ClientAddress;
  /** Formats an address for logs. */
  sourceName: (address: string) => string;
  identityHash: IdentityHash;
  requestContext: RequestHandler;
  /** Pages from these origins may call the API; `*` allows all origins. */
  corsOrigins: readonly string[];
  /** `max-age` of Strict-Transport-Security in seconds; 0 omits the header. */
  hstsMaxAgeS: number;
  docsEnabled: boolean;
  page: PageSettings | undefined;
  logger: Logger;
}

/** Tells browsers that responses are not pages and must not be cached. */
const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
  });
  next();
};

const locals = ({ res }: Request): Record<string, unknown> => res?.locals ?? {};

function createAuthenticate({ authenticator, identityHash, rates }: AppDeps): Authenticate {
  return async (request, auth) => {
    const source = String(locals(request)['source'] ?? '');
    const actor = await authenticator.authenticate(readCredentials(request.headers), auth, { via: 'rest', source });
    // An account route's identity may have no user. Other routes log the user id.
    if (auth === 'identity') locals(request)['identity'] = identityHash(actor.identity).toString('hex');
    await limitCaller(rates, request, actor.identity);
    return actor;
  };
}

export function createApp(deps: AppDeps): Express {
  const { handlers, rates, addressOf, requestContext, logger } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');

  const transport = transportSecurity(deps.hstsMaxAgeS);
  app.use((_request, response, next) => {
    response.set(transport);
    next();
  });
  app.use(compressJson());
  app.use(requestContext);
  app.use(answerSlowBodies);
  app.use((request, response, next) => {
    response.locals['source'] = deps.sourceName(addressOf(request));
    next();
  });
  // CORS headers come first, so that a page can read a rejected request's error.
  app.use('/v1', allowOrigins(deps.corsOrigins));
  app.use('/v1', securityHeaders);
  app.use(limitAddresses(rates, addressOf));
  if (deps.docsEnabled) app.use(referencePages());
  if (deps.page !== undefined) app.use(userPage(deps.page));
  const authenticate = createAuthenticate(deps);
  app.use(deps.doors(async (request) => (await authenticate(request, 'user')) as UserActor));
  app.use(createRoutes(handlers, { readPosition: deps.readPosition, permit: deps.permit, authenticate }));
  app.use((request, response) => {
    const allowed = allowedMethods(request.path);
    if (allowed.length === 0) throw new ApiError('route_not_found');
    response.set('Allow', allowed.join(', '));
    throw new ApiError('method_not_allowed');
  });
  app.use(createErrorHandler(logger));
  return app;
}
