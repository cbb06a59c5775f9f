import type { OperationId, RouteAnswer, RouteInput, RouteOf } from '@uswarm/contract';
import type { Database } from '../database/database.js';
import type { IdentityActor, UserActor } from '../../accounts/auth/actor.js';
import type { NotModified } from './conditional.js';
import type { DocumentAnswer } from './document-answer.js';
import type { FileAnswer } from './file-answer.js';
import type { IncomingForm } from './form.js';

type ActorOf<Operation extends OperationId> = RouteOf<Operation>['auth'] extends 'user'
  ? UserActor
  : RouteOf<Operation>['auth'] extends 'identity'
    ? IdentityActor
    : undefined;

export interface HandlerInput<Operation extends OperationId> extends RouteInput<Operation> {
  actor: ActorOf<Operation>;
  /** Aborted when the client closes the connection before it has its response. */
  signal: AbortSignal;
  /** GET or HEAD for a GET route. */
  method: string;
  form: RouteOf<Operation> extends { multipart: unknown } ? IncomingForm : undefined;
}

/** Handlers return files and documents instead of the value that the schema describes. */
type AnswerOf<Operation extends OperationId> = Operation extends 'getUpload' | 'getExportArchive' | 'getArtifactFile'
  ? FileAnswer | NotModified
  : Operation extends 'getOpenApi' | 'getAsyncApi' | 'getAsset'
    ? DocumentAnswer
    : RouteAnswer<Operation>;

export type Handler<Operation extends OperationId> = (input: HandlerInput<Operation>) => Promise<AnswerOf<Operation>>;

/** Reads the position together with the handler's data instead of before them. */
export interface PositionedHandler<Operation extends OperationId> {
  /**
   * Calls `readPosition` before it sends the statements that read the data: the answer then contains all events up to
   * the position.
   */
  handle(
    input: HandlerInput<Operation>,
    readPosition: ReadRoutePosition,
  ): Promise<{ answer: AnswerOf<Operation>; position: string | undefined }>;
}

/** Reads the position of the request's workspace; undefined if it does not exist. */
export type ReadRoutePosition = (db?: Database) => Promise<string | undefined>;

/** A missing handler is a compile error. */
export type Handlers = {
  [Operation in OperationId]:
    | Handler<Operation>
    | (RouteOf<Operation> extends { position: unknown } ? PositionedHandler<Operation> : never);
};
