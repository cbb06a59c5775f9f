import { CREDENTIAL_HEADERS } from '@uswarm/contract';
import { corsOriginOption } from '@uswarm/service-kit';
import cors from 'cors';
import type { RequestHandler } from 'express';

/** What clients send beside the headers that browsers always allow. */
const REQUEST_HEADERS = [
  ...CREDENTIAL_HEADERS,
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-range',
  'last-event-id',
  'prefer',
  'range',
  'traceparent',
  'x-request-id',
];

/** What pages may read beside the headers that browsers always show. */
const ANSWER_HEADERS = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'Deprecation',
  'ETag',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'X-Request-Id',
];

/** Seconds for which a browser remembers a preflight. */
const PREFLIGHT_MAX_AGE_S = 600;

/**
 * Lets pages of these origins (`*`: of every origin) call the API and read every answer of it, errors included. No
 * cookies: credentials travel in headers. Without origins nothing is added.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  if (origins.length === 0) return (_request, _response, next) => next();
  return cors({
    origin: corsOriginOption(origins),
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [...new Set(REQUEST_HEADERS)],
    exposedHeaders: ANSWER_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_S,
  });
}
