import { CREDENTIAL_HEADERS, POSITION_HEADER } from '@uswarm/contract';
import { corsOriginOption } from '@uswarm/service-kit';
import cors from 'cors';
import type { RequestHandler } from 'express';

/** Request headers of the API that are not on the safelist of browsers. */
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

/** Response headers that pages may read in addition to the safelist of browsers. */
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
  POSITION_HEADER,
];

/** Seconds for which a browser caches a preflight response. */
const PREFLIGHT_MAX_AGE_S = 600;

/**
 * Allows pages of these origins (`*`: all origins) to call the API and read all responses, including errors. Cookies
 * are not allowed: credentials are sent in headers. Without origins no header is added.
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
