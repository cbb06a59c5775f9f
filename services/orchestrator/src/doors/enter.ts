import type { ApiError } from '@uswarm/contract';
import type { Request, Response } from 'express';
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
