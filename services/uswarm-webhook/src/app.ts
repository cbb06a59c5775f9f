import {
  type SyncResponse,
  type UserSwarmStatus,
  WEBHOOK_REVISION_HEADER,
  WEBHOOK_STARTED_HEADER,
} from '@uswarm/contract/userswarm';
import { requireUtf8, type Clock, type Logger, systemClock } from '@uswarm/service-kit';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { bearerCheck } from './http/bearer.js';
import { readSyncRequest } from './http/sync-request.js';
import type { SyncOutcome, WebhookMetrics } from './metrics.js';
import { render } from './render/render.js';
import type { DatabaseState, RenderSettings } from './render/settings.js';

export interface WebhookDeps {
  syncToken: string;
  /** Also accepted. */
  previousSyncTokens?: readonly string[];
  settings: RenderSettings;
  /** The revision headers of each response. Default: none */
  version?: WebhookVersion;
  logger: Pick<Logger, 'error' | 'warn'>;
  metrics?: WebhookMetrics;
  databaseState?: () => DatabaseState;
  clock?: Clock;
}

export interface WebhookVersion {
  /** Hash of the effective configuration and the program. */
  revision: string;
  startedAt: Date;
}

/** Maximum request size. A child with managed fields has tens of kilobytes. */
const BODY_LIMIT = '8mb';

/** Serves `POST /sync` and `GET /healthz`. A failure is an HTTP error and never an empty list of children. */
export function createWebhookApp(deps: WebhookDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/healthz', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.post(
    '/sync',
    measure(deps),
    authenticate(deps),
    setVersionHeaders(deps),
    express.json({ limit: BODY_LIMIT, type: () => true, verify: requireUtf8 }),
    sync(deps),
  );
  app.use((_request, response) => {
    response.status(404).json({ error: 'not found' });
  });
  app.use(errors(deps));
  return app;
}

const OUTCOMES: Readonly<Record<number, SyncOutcome>> = { 200: 'ok', 401: 'unauthorized', 500: 'error' };

function measure({ metrics }: WebhookDeps): RequestHandler {
  return (_request, response, next) => {
    const start = performance.now();
    response.once('finish', () => {
      metrics?.observeRequest(OUTCOMES[response.statusCode] ?? 'bad_request', (performance.now() - start) / 1_000);
    });
    next();
  };
}

/** Authenticates before the body is read, so that unauthenticated clients cannot use memory. */
function authenticate({ syncToken, previousSyncTokens = [] }: WebhookDeps): RequestHandler {
  const isAuthentic = bearerCheck([syncToken, ...previousSyncTokens]);
  return (request, response, next) => {
    if (isAuthentic(request.headers)) next();
    else response.status(401).set('www-authenticate', 'Bearer').json({ error: 'a valid token is required' });
  };
}

function setVersionHeaders({ version }: WebhookDeps): RequestHandler {
  const headers =
    version === undefined
      ? {}
      : { [WEBHOOK_REVISION_HEADER]: version.revision, [WEBHOOK_STARTED_HEADER]: version.startedAt.toISOString() };
  return (_request, response, next) => {
    response.set(headers);
    next();
  };
}

function sync(deps: WebhookDeps): RequestHandler {
  const { settings, metrics, databaseState = () => 'unset' as const, clock = systemClock } = deps;
  return (incoming, response) => {
    const read = readSyncRequest(incoming.body);
    if ('fault' in read) {
      response.status(400).json({ error: read.fault });
      return;
    }
    const rendered = render(read.request, settings, { database: databaseState(), now: clock.now() });
    count(rendered, metrics);
    response.json(rendered);
  };
}

function count({ status }: SyncResponse, metrics: WebhookMetrics | undefined): void {
  const { phase, conditions } = status as UserSwarmStatus;
  const ready = conditions?.find(({ type }) => type === 'Ready');
  metrics?.observeRendering(phase ?? '', ready?.reason ?? '');
}

function errors({ logger }: WebhookDeps): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    // The body was too slow; see `endSlowBodies`.
    if (response.headersSent) return;
    const { status: stated, type } = (error ?? {}) as { status?: unknown; type?: unknown };
    // The parser gives the errors of `verify` another status.
    const status = type === 'entity.parse.failed' ? 400 : stated;
    if (typeof status === 'number' && status >= 400 && status < 500) {
      response.status(status).json({ error: status === 413 ? 'the body is too large' : 'the body is malformed' });
      return;
    }
    logger.error({ err: error }, 'sync failed');
    response.status(500).json({ error: 'internal error' });
  };
}
