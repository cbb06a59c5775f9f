import { z } from 'zod';
import type { ErrorCode } from '../errors.js';
import { LIMITS } from '../limits.js';
import type { TokenScope } from '../resources/api-token.js';
import { EpochSeq } from '../resources/primitives.js';
import type { Example } from './examples.js';

/** A path parameter: an id, or free text (memory keys, tool names). */
export type PathParameter = { kind: 'id'; notFound: ErrorCode } | { kind: 'text'; description: string };

/** An id in a path. An unknown id, or one of another user, returns `notFound`. */
export const id = (notFound: ErrorCode): PathParameter => ({ kind: 'id', notFound });
export const text = (description: string): PathParameter => ({ kind: 'text', description });

/**
 * `public`: without authentication. `user`: a signed-up user. `identity`: an identity provider's token in `X-Token` (or
 * the end-to-end bypass), also before sign-up.
 */
export type RouteAuth = 'public' | 'user' | 'identity';

/** The scope that an API token needs. `session`: only an ID token may call the route. */
export type RouteScope = TokenScope | 'session';

/**
 * Workspaces that a route without one in its path concerns. `any`: none. `listed`: it shows only workspaces that the
 * token reaches. `account`: all of them, so a token with a workspace list is refused.
 */
export type RouteReach = 'any' | 'listed' | 'account';

/** The workspace whose position a response has: the parameter with the workspace id, or with an agent id in it. */
export interface RoutePosition {
  of: 'workspace' | 'agent';
  parameter: string;
}

/** The header with the position. */
export const POSITION_HEADER = 'X-Workspace-Position';

export interface RouteDefinition {
  operationId: string;
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With `{name}` for parameters. */
  path: `/v1/${string}`;
  auth: RouteAuth;
  /** Every route of users has one. */
  scope?: RouteScope;
  /** Default: the workspace of the object that the path names. */
  reach?: RouteReach;
  tag: string;
  summary: string;
  /** What the summary does not say, for app developers, in Markdown. */
  description: string;
  /** The specification does not contain the route. */
  extension?: true;
  params?: Record<string, PathParameter>;
  query?: z.ZodObject;
  /** Headers that the route reads, by lower-case name. */
  headers?: z.ZodObject;
  body?: z.ZodType;
  /** The body is optional. */
  bodyOptional?: true;
  /** Parts of a multipart/form-data body, instead of `body`. */
  multipart?: z.ZodObject;
  /** Success status → body; null without a body. */
  responses: Record<number, { description: string; schema: z.ZodType | null }>;
  /** Successful responses have the header `X-Workspace-Position`. */
  position?: RoutePosition;
  /** Codes in addition to `commonErrors`. */
  errors?: readonly ErrorCode[];
  /** A test checks it against the route's schemas, and another one sends it. */
  example: Example;
}

/** Header that makes a creation idempotent. */
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

/** Header with the position that a client has seen. */
export const seenPosition = z.object({
  'x-workspace-position': EpochSeq.optional().meta({
    description:
      'The highest position that the client has seen in this workspace. With it, the response can come from a standby that has all events up to it; without it, never.',
    'x-extension': true,
  }),
});

/** Preserves the literal types, which type the handlers. */
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

/** Codes that follow from a route's authentication, parameters, query and body. */
export function commonErrors(route: RouteDefinition): ErrorCode[] {
  const codes: ErrorCode[] = ['rate_limited', 'internal_error', 'service_unavailable'];
  if (route.auth !== 'public') {
    codes.push('token_missing', 'token_invalid', 'token_expired', 'token_revoked');
    codes.push('signature_missing', 'signature_invalid', 'timestamp_invalid', 'timestamp_out_of_window');
  }
  if (route.auth !== 'public') codes.push('token_not_permitted');
  if (route.auth === 'user') codes.push('sign_up_required', 'user_banned', 'user_deleted');
  if (route.auth === 'identity') codes.push('token_header_required', 'user_banned');
  if (route.query !== undefined || route.body !== undefined) codes.push('validation_failed');
  if (route.body !== undefined) {
    codes.push('malformed_json', 'payload_too_large', 'unsupported_media_type', 'request_timeout');
  }
  for (const parameter of Object.values(route.params ?? {})) {
    if (parameter.kind === 'id') codes.push(parameter.notFound);
  }
  return codes;
}

/** The object in a route's path whose workspace an API token must reach. */
export interface RouteSubject {
  kind: 'workspace' | 'agent' | 'conversation' | 'receipt';
  parameter: string;
  notFound: ErrorCode;
}

const SUBJECT_OF: Partial<Record<ErrorCode, RouteSubject['kind']>> = {
  workspace_not_found: 'workspace',
  agent_not_found: 'agent',
  conversation_not_found: 'conversation',
  receipt_not_found: 'receipt',
};

/** The first id in the path whose workspace is known; undefined if the path names none. */
export function subjectOf({ params = {} }: Pick<RouteDefinition, 'params'>): RouteSubject | undefined {
  for (const [parameter, each] of Object.entries(params)) {
    const kind = each.kind === 'id' ? SUBJECT_OF[each.notFound] : undefined;
    if (each.kind === 'id' && kind !== undefined) return { kind, parameter, notFound: each.notFound };
  }
  return undefined;
}
