import { z } from 'zod';
import { ERRORS, ErrorBody, type ErrorCode } from '../errors.js';
import { allowedMethods, commonErrors, findRoute, type RouteDefinition } from '../routes/index.js';

/** A REST response that a client received. */
export interface SeenResponse {
  method: string;
  /** The concrete path or URL; the query is ignored. */
  path: string;
  status: number;
  /** Parsed JSON; undefined, null or '' without a body; bytes or text of a file. */
  body: unknown;
}

/**
 * Checks a response against the contract: status and body, or status and error code, are documented for the route. An
 * unknown path returns `route_not_found`, another method `method_not_allowed`.
 * @throws Error with the response and the mismatch
 */
export function checkResponse(seen: SeenResponse): void {
  const problem = problemOf(seen);
  if (problem !== undefined) {
    throw new Error(
      `${seen.method.toUpperCase()} ${pathOf(seen)} answered ${seen.status}, ${problem}\n${shown(seen.body)}`,
    );
  }
}

function problemOf(seen: SeenResponse): string | undefined {
  const route = findRoute(seen.method, pathOf(seen));
  if (seen.status >= 400) return errorProblem(seen, documentedCodes(route, pathOf(seen)));
  if (route === undefined) return 'but the route does not exist: it must return 404 route_not_found';
  const response = route.responses[seen.status];
  if (response === undefined) return `which ${route.operationId} does not document`;
  return bodyProblem(response.schema, seen.body);
}

function documentedCodes(route: RouteDefinition | undefined, path: string): readonly ErrorCode[] {
  if (route === undefined) {
    return [allowedMethods(path).length > 0 ? 'method_not_allowed' : 'route_not_found', 'rate_limited'];
  }
  return [...commonErrors(route), ...(route.errors ?? [])];
}

function errorProblem({ status, body }: SeenResponse, codes: readonly ErrorCode[]): string | undefined {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return `but the body is not the documented error: ${z.prettifyError(parsed.error)}`;
  const { code } = parsed.data;
  if (!codes.includes(code)) return `but the code ${code} is not documented for this route`;
  if (ERRORS[code].status !== status) return `but the code ${code} belongs to ${ERRORS[code].status}`;
  return undefined;
}

function bodyProblem(schema: z.ZodType | null, body: unknown): string | undefined {
  if (schema === null) return isEmpty(body) ? undefined : 'which has no body, but there is one';
  // The client parses a file as bytes or text.
  if (schema.meta()?.['format'] === 'binary') return isFile(body) ? undefined : 'but the body is not a file';
  const parsed = schema.safeParse(body);
  return parsed.success ? undefined : `but the body is not the documented one: ${z.prettifyError(parsed.error)}`;
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || body === '' || (body instanceof Uint8Array && body.length === 0);
}

function isFile(body: unknown): boolean {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof ArrayBuffer;
}

function pathOf({ path }: SeenResponse): string {
  return new URL(path, 'http://localhost').pathname;
}

function shown(body: unknown): string {
  const text = JSON.stringify(body) ?? 'no body';
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}
