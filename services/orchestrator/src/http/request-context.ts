import { randomUUID } from 'node:crypto';
import type { RouteDefinition } from '@uswarm/contract';
import { type Logger, type Registry, runInContext } from '@uswarm/service-kit';
import type { RequestHandler } from 'express';
import { Histogram } from 'prom-client';

const REQUEST_ID = /^[\w.-]{8,128}$/;

/** Gives each request its id (the client's own where it sends a sane one) and logs how it ended. */
export function createRequestContext(logger: Logger, metrics: Registry): RequestHandler {
  const duration = new Histogram({
    name: 'uswarm_http_request_duration_seconds',
    help: 'Time from the request to the end of the answer, by route and status.',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  });
  return (request, response, next) => {
    const sent = request.get('x-request-id');
    const requestId = sent !== undefined && REQUEST_ID.test(sent) ? sent : randomUUID();
    response.set('X-Request-Id', requestId);
    const started = performance.now();
    response.once('finish', () => {
      const route = (response.locals['route'] as RouteDefinition | undefined)?.operationId ?? 'none';
      const seconds = (performance.now() - started) / 1000;
      duration.observe({ route, status: response.statusCode }, seconds);
      logger.debug({ requestId, route, status: response.statusCode, ms: Math.round(seconds * 1000) }, 'request');
    });
    runInContext({ requestId }, next);
  };
}
