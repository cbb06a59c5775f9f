import {
  ApiError,
  findRoute,
  POSITION_HEADER,
  ROUTES,
  type OperationId,
  type RouteAuth,
  type RouteDefinition,
  type RoutePosition,
} from '@uswarm/contract';
import { currentContext, currentTraceId, inSpan } from '@uswarm/service-kit';
import { type ErrorRequestHandler, type Request, type Response, Router } from 'express';
import type { Database } from '../database/database.js';
import { isId } from '../database/id.js';
import type { IdentityActor, UserActor } from '../../accounts/auth/actor.js';
import { readBody } from './body.js';
import { clientGone } from './client-gone.js';
import { NotModified, sendNotModified } from './conditional.js';
import { DocumentAnswer, sendDocument } from './document-answer.js';
import { FileAnswer, sendFile } from './file-answer.js';
import { incomingForm, type IncomingForm } from './form.js';
import type { Handlers, ReadRoutePosition } from './handlers.js';
import { parseInput } from './input.js';

/** Throws the error that the caller gets. */
export type Authenticate = (request: Request, auth: Exclude<RouteAuth, 'public'>) => Promise<UserActor | IdentityActor>;

/** Throws the error for a request that its API token does not permit. */
export type PermitRequest = (
  actor: UserActor,
  route: RouteDefinition,
  params: Readonly<Record<string, string>>,
) => Promise<void>;

/** Reads a workspace's position; undefined if it does not exist. */
export type ReadPosition = (of: RoutePosition['of'], id: string, db?: Database) => Promise<string | undefined>;

export interface RouteServices {
  authenticate: Authenticate;
  permit: PermitRequest;
  readPosition: ReadPosition;
}

interface AnyAnswer {
  status: number;
  body?: unknown;
}
interface AnyInput {
  params: Record<string, string>;
  query: unknown;
  headers: unknown;
  body: unknown;
  form: IncomingForm | undefined;
  signal: AbortSignal;
  actor: UserActor | IdentityActor | undefined;
  method: string;
}
type Answer = AnyAnswer | FileAnswer | DocumentAnswer | NotModified;
interface Positioned {
  answer: Answer;
  position: string | undefined;
}
type AnyHandler =
  | ((input: AnyInput) => Promise<Answer>)
  | { handle(input: AnyInput, readPosition: ReadRoutePosition): Promise<Positioned> };

/** Mounts all routes in the contract. Each has the same checks in the same order. */
export function createRoutes(handlers: Handlers, services: RouteServices): Router {
  const router = Router();
  for (const route of ROUTES) {
    const handler = (handlers as unknown as Record<OperationId, AnyHandler>)[route.operationId];
    router[route.method](expressPath(route.path), async (request, response) => {
      const span = { client: request.headers, attributes: { 'http.route': route.path } };
      await inSpan(route.operationId, span, () => {
        nameTrace();
        return serve(route, handler, services, request, response);
      });
    });
  }
  router.use(((error, request, _response, next) => {
    next(error instanceof URIError ? undecodable(request) : error);
  }) satisfies ErrorRequestHandler);
  return router;
}

/** Adds the current trace id to the request's log lines. */
function nameTrace(): void {
  const [context, traceId] = [currentContext(), currentTraceId()];
  if (context !== undefined && traceId !== undefined) context.traceId = traceId;
}

/** A path that cannot be decoded has the same error as an id that does not exist. */
function undecodable({ method, path }: Request): ApiError {
  const parameters = Object.values(findRoute(method, path)?.params ?? {});
  const named = parameters.find((parameter) => parameter.kind === 'id');
  return new ApiError(named?.notFound ?? 'route_not_found');
}

async function serve(
  route: RouteDefinition,
  handler: AnyHandler,
  { authenticate, permit, readPosition }: RouteServices,
  request: Request,
  response: Response,
): Promise<void> {
  response.locals['route'] = route;
  const actor = route.auth === 'public' ? undefined : await authenticate(request, route.auth);
  if (isUser(actor)) response.locals['userId'] = actor.userId;
  const params = readParams(route, request);
  if (isUser(actor)) await permit(actor, route, params);
  const query = route.query === undefined ? undefined : parseInput(route.query, request.query);
  const headers = route.headers === undefined ? undefined : parseInput(route.headers, request.headers);
  const body = await readBody(route, request, response);
  const form = route.multipart === undefined ? undefined : incomingForm(request);
  const { position: at } = route;
  const readOwn: ReadRoutePosition = async (db) =>
    at === undefined ? undefined : readPosition(at.of, params[at.parameter] ?? '', db);
  const input = { params, query, headers, body, form, signal: clientGone(response), actor, method: request.method };
  const { position, answer } =
    typeof handler === 'function'
      ? // Before the handler reads: the response then contains all events up to the position.
        { position: await readOwn(), answer: await handler(input) }
      : await handler.handle(input, readOwn);
  if (answer instanceof FileAnswer) {
    await sendFile(answer, request, response);
    return;
  }
  if (answer instanceof DocumentAnswer) {
    sendDocument(answer, request, response);
    return;
  }
  if (answer instanceof NotModified) {
    sendNotModified(answer, response);
    return;
  }
  if (position !== undefined) response.set(POSITION_HEADER, position);
  response.status(answer.status);
  if (answer.body === undefined) response.end();
  else sendJson(response, answer.body);
}

const isUser = (actor: UserActor | IdentityActor | undefined): actor is UserActor =>
  actor !== undefined && 'userId' in actor;

/** As `response.json`, in one system call: express writes the headers and large bodies separately. */
function sendJson(response: Response, body: unknown): void {
  const text = JSON.stringify(body);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** A malformed id has the same error as an id that does not exist. */
function readParams(route: RouteDefinition, request: Request): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, parameter] of Object.entries(route.params ?? {})) {
    const value = String(request.params[name]);
    if (parameter.kind === 'id' && !isId(value)) throw new ApiError(parameter.notFound);
    values[name] = value;
  }
  return values;
}

function expressPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}
