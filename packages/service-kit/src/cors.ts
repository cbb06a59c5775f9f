import type { IncomingMessage, ServerResponse } from 'node:http';
import { CREDENTIAL_HEADERS, POSITION_HEADER } from '@uswarm/contract';
import cors, { type CorsOptions } from 'cors';
import { corsOriginOption } from './cors-origins.js';

/** API request headers outside the browsers' safelist. */
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
  'x-resume-token',
  POSITION_HEADER.toLowerCase(),
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

const OPTIONS: CorsOptions = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowedHeaders: [...new Set(REQUEST_HEADERS)],
  exposedHeaders: ANSWER_HEADERS,
  maxAge: PREFLIGHT_MAX_AGE_S,
};

/** For express, and for the server of Node.js. */
export type CorsHandler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/**
 * Allows pages from these origins (`*`: all origins) to call the API and read all responses, including errors. Cookies
 * are not allowed: credentials are sent in headers. Without origins no header is added.
 */
export function allowOrigins(origins: readonly string[]): CorsHandler {
  if (origins.length === 0) return (_request, _response, next) => next();
  return cors({ ...OPTIONS, origin: corsOriginOption(origins) });
}

/** Allows the page that sends this request to read its response, and to send cookies with it. The caller has checked the origin. */
export function allowCaller(): CorsHandler {
  return cors({ ...OPTIONS, origin: true, credentials: true });
}
