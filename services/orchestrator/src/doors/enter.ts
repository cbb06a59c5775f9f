import { type ApiError, LIMITS } from '@uswarm/contract';
import { requireUtf8 } from '@uswarm/service-kit';
import express, { type Request, type Response, type Router } from 'express';
import type { UserActor } from '../accounts/auth/actor.js';
import { answerErrorsAs } from '../platform/http/errors.js';

export type AuthenticateProgram = (request: Request) => Promise<UserActor>;

export interface Entrance {
  /** For the request log and metrics. */
  operationId: string;
  /** Errors in the door's protocol. */
  errorBody: (error: ApiError) => object;
  authenticate: AuthenticateProgram;
}

/** Call it before the body is read. @throws ApiError */
export async function enter(
  request: Request,
  response: Response,
  { operationId, errorBody, authenticate }: Entrance,
): Promise<UserActor> {
  response.locals['route'] = { operationId };
  answerErrorsAs(response, errorBody);
  const actor = await authenticate(request);
  response.locals['userId'] = actor.userId;
  return actor;
}

/** An error's text with its fields, for protocols whose errors have only a text. */
export function textOf({ message, extra }: ApiError): string {
  const fields = extra['fields'] as { path: string; message: string }[] | undefined;
  if (fields === undefined) return message;
  const reasons = fields.map(({ path, message: reason }) => (path === '' ? reason : `${path} ${reason}`));
  return `The request is not valid: ${reasons.join('; ')}`;
}

/** Programs send the whole conversation with each question. */
const BODY_BYTES = 16 * LIMITS.bodyBytes;
const parse = express.json({ limit: BODY_BYTES, verify: requireUtf8 });

/** A route whose body is JSON. */
export function mountDoor(
  router: Router,
  path: string,
  entrance: Entrance,
  handle: (actor: UserActor, request: Request, response: Response) => Promise<void>,
): void {
  const identify = async (request: Request, response: Response, next: () => void): Promise<void> => {
    response.locals['actor'] = await enter(request, response, entrance);
    next();
  };
  router.post(path, identify, parse, (request, response) =>
    handle(response.locals['actor'] as UserActor, request, response),
  );
}
