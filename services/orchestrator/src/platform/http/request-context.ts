import { randomUUID } from 'node:crypto';
import {
  deviceLogFields,
  type Logger,
  readDevice,
  type Registry,
  type RequestContext,
  runInContext,
} from '@uswarm/service-kit';
import type { Request, RequestHandler, Response } from 'express';
import { Gauge, Histogram } from 'prom-client';

const REQUEST_ID = /^[\w.-]{8,128}$/;
/** W3C Trace Context: version, trace, parent, flags. */
const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}$/;
/** Probes send these requests every few seconds; they are logged at level debug. */
const QUIET = new Set(['getHealth']);

/** A trace from another uswarm service is continued; a client's trace is only logged. */
type Caller = 'service' | 'client';

/**
 * Assigns an id to each request (the client's id if it is valid), measures it, and logs its outcome. It logs the route
 * instead of the path, because paths contain memory keys.
 */
export function createRequestContext(logger: Logger, metrics: Registry): (caller: Caller) => RequestHandler {
  const duration = new Histogram({
    name: 'uswarm_http_request_duration_seconds',
    help: 'Time from the request to the end of the response by route, method and status class.',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  });
  const inProgress = new Gauge({
    name: 'uswarm_http_requests_in_progress',
    help: 'Requests in progress.',
    registers: [metrics],
  });
  return (caller) => (request, response, next) => {
    const context = contextOf(request, caller);
    response.set('X-Request-Id', context.requestId);
    const started = performance.now();
    inProgress.inc();
    response.once('close', () => {
      inProgress.dec();
      const seconds = (performance.now() - started) / 1000;
      const { route = 'none', method, status } = outcomeOf(request, response);
      duration.observe(
        { route, method, status: typeof status === 'number' ? `${Math.floor(status / 100)}xx` : status },
        seconds,
      );
      const level = QUIET.has(route) ? 'debug' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      const { code, userId, identity, source } = response.locals;
      logger[level](
        {
          ...context,
          method,
          route,
          status,
          code,
          user: userId,
          identity,
          source,
          ms: Math.round(seconds * 1000),
          ...deviceLogFields(readDevice(request.headers)),
        },
        'request',
      );
    });
    runInContext(context, next);
  };
}

function contextOf(request: Request, caller: Caller): RequestContext {
  const sent = request.get('x-request-id');
  const requestId = sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID();
  const traceId = TRACEPARENT.exec(request.get('traceparent') ?? '')?.[1];
  if (traceId === undefined) return { requestId };
  return caller === 'service' ? { requestId, traceId } : { requestId, clientTraceId: traceId };
}

/** The status is `aborted` if the client closed the connection before the response ended. */
function outcomeOf(request: Request, response: Response) {
  const route = (response.locals['route'] as { operationId: string } | undefined)?.operationId;
  const status = response.writableFinished ? response.statusCode : ('aborted' as const);
  // A client can send arbitrary methods, and each would create a series.
  const method = route === undefined ? 'any' : request.method;
  return { ...(route === undefined ? {} : { route }), method, status };
}
