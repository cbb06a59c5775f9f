import { z } from 'zod';
import type { ErrorCode } from '../errors.js';
import { LIMITS } from '../limits.js';
import type { Example } from './examples.js';

/** A path parameter: an id of ours, or free text (memory keys, tool names). */
export type PathParameter = { kind: 'id'; notFound: ErrorCode } | { kind: 'text' };

/** An id in a path; whatever is no id of the caller's is answered with `notFound`. */
export const id = (notFound: ErrorCode): PathParameter => ({ kind: 'id', notFound });
export const text: PathParameter = { kind: 'text' };

/**
 * Who may call: everybody; a signed-up user; or a bearer of an identity provider token in
 * `X-Token` (or of the end-to-end bypass), signed up or not.
 */
export type RouteAuth = 'public' | 'user' | 'identity';

export interface RouteDefinition {
  operationId: string;
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With `{name}` for parameters, as in the documents. */
  path: `/v1/${string}`;
  auth: RouteAuth;
  tag: string;
  summary: string;
  /** What an app developer has to know besides the summary; Markdown. */
  description?: string;
  /** The row of the specification, or `extension`. */
  spec: string;
  params?: Record<string, PathParameter>;
  query?: z.ZodObject;
  /** Headers that the route itself reads, by their lower-case names. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** A body may be left out altogether. */
  bodyOptional?: true;
  /** The parts of a multipart/form-data body, in place of `body`. */
  multipart?: z.ZodObject;
  /** Success status → body; null where there is none. */
  responses: Record<number, { description: string; schema: z.ZodType | null }>;
  /** Codes besides those that every route of its kind can answer. */
  errors?: readonly ErrorCode[];
  /** A test checks it against the schemas of the route, and another one sends it. */
  example: Example;
}

/** The header of a request that creates something once, however often it is sent. */
export const idempotencyKey = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
    .max(LIMITS.idempotencyKey)
    .optional()
    .meta({
      description: `Chosen by the client, for example a UUID. For ${LIMITS.idempotencyKeptHours} hours, the same request with the same key returns the first result, and a different request with the same key fails with \`idempotency_key_reused\`.`,
    }),
});

/** Keeps the literal types, so that handlers are typed by their route. */
export function defineRoute<const Route extends RouteDefinition>(route: Route): Route {
  return route;
}

export const noContent = { 204: { description: 'No content.', schema: null } } as const;

export function ok<Schema extends z.ZodType>(schema: Schema, description = 'Success.') {
  return { 200: { description, schema } } as const;
}

export function created<Schema extends z.ZodType>(schema: Schema, description = 'Created.') {
  return { 201: { description, schema } } as const;
}

export function accepted<Schema extends z.ZodType>(
  schema: Schema,
  description = 'Accepted; processing continues in the background.',
) {
  return { 202: { description, schema } } as const;
}

/** Codes that a route can answer because of what it is, before its own. */
export function commonErrors(route: RouteDefinition): ErrorCode[] {
  const codes: ErrorCode[] = ['rate_limited', 'internal_error', 'service_unavailable'];
  if (route.auth !== 'public') {
    codes.push('token_missing', 'token_invalid', 'token_expired', 'token_revoked');
    codes.push('signature_missing', 'signature_invalid', 'timestamp_invalid', 'timestamp_out_of_window');
  }
  if (route.auth === 'user') codes.push('sign_up_required', 'user_banned', 'user_deleted');
  if (route.auth === 'identity') codes.push('token_header_required', 'user_banned');
  if (route.query !== undefined || route.body !== undefined) codes.push('validation_failed');
  if (route.body !== undefined) codes.push('malformed_json', 'payload_too_large', 'unsupported_media_type');
  for (const parameter of Object.values(route.params ?? {})) {
    if (parameter.kind === 'id') codes.push(parameter.notFound);
  }
  return codes;
}
