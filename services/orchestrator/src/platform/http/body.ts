import { LIMITS, type RouteDefinition } from '@uswarm/contract';
import { requireUtf8 } from '@uswarm/service-kit';
import express, { type Request, type Response } from 'express';
import { jsonContentType } from './content-type.js';
import { parseInput } from './input.js';

// The limit applies to the decompressed body.
const parseJson = express.json({
  limit: LIMITS.bodyBytes,
  type: 'application/json',
  strict: false,
  verify: requireUtf8,
});

/** @throws ApiError, and the body parser's errors */
export async function readBody(route: RouteDefinition, request: Request, response: Response): Promise<unknown> {
  if (route.body === undefined) return undefined;
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody && route.bodyOptional === true) return parseInput(route.body, {});
  if (hasBody) request.headers['content-type'] = jsonContentType(request.headers['content-type']);
  await new Promise<void>((resolve, reject) => {
    parseJson(request, response, (error: unknown) => (error === undefined ? resolve() : reject(error)));
  });
  // A null as the whole body counts as no body.
  return parseInput(route.body, request.body ?? {});
}
