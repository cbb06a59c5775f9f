import { ApiError, LIMITS, validationError, type RouteDefinition } from '@uswarm/contract';
import express, { type Request, type Response } from 'express';

const parseJson = express.json({ limit: LIMITS.bodyBytes, type: 'application/json', strict: false });

/** Errors of the body parser, by its own `type`. */
const PARSER_ERRORS = {
  'entity.parse.failed': 'malformed_json',
  'entity.too.large': 'payload_too_large',
  'encoding.unsupported': 'unsupported_media_type',
  'charset.unsupported': 'unsupported_media_type',
  'request.size.invalid': 'malformed_json',
} as const;

/** Reads and checks the body of a route that has one. @throws ApiError */
export async function readBody(route: RouteDefinition, request: Request, response: Response): Promise<unknown> {
  if (route.body === undefined) return undefined;
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody && route.bodyOptional === true) return parseBody(route.body, {});
  if (hasBody && !request.is('application/json')) throw new ApiError('unsupported_media_type');
  await new Promise<void>((resolve, reject) => {
    parseJson(request, response, (error: unknown) => (error === undefined ? resolve() : reject(parserError(error))));
  });
  return parseBody(route.body, request.body ?? {});
}

/** Turns an error of the body parser into one of ours; others stay as they are. */
function parserError(error: unknown): unknown {
  const type = (error as { type?: unknown } | null)?.type;
  const code = typeof type === 'string' ? PARSER_ERRORS[type as keyof typeof PARSER_ERRORS] : undefined;
  return code === undefined ? error : new ApiError(code);
}

function parseBody(schema: NonNullable<RouteDefinition['body']>, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (!result.success) throw validationError(result.error);
  return result.data;
}
