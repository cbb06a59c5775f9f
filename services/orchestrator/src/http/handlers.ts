import type { OperationId, RouteAnswer, RouteInput, RouteOf } from '@uswarm/contract';
import type { IdentityActor, UserActor } from '../features/auth/actor.js';
import type { DocumentAnswer } from './document-answer.js';
import type { FileAnswer } from './file-answer.js';
import type { IncomingForm } from './form.js';

type ActorOf<Operation extends OperationId> = RouteOf<Operation>['auth'] extends 'user'
  ? UserActor
  : RouteOf<Operation>['auth'] extends 'identity'
    ? IdentityActor
    : undefined;

/** Input of a handler: the validated request and the caller. */
export interface HandlerInput<Operation extends OperationId> extends RouteInput<Operation> {
  actor: ActorOf<Operation>;
  /** Aborted when the client closes the connection before it has its response. */
  signal: AbortSignal;
  form: RouteOf<Operation> extends { multipart: unknown } ? IncomingForm : undefined;
}

/** Handlers return files and documents instead of the value that the schema describes. */
type AnswerOf<Operation extends OperationId> = Operation extends 'getUpload' | 'getExportArchive'
  ? FileAnswer
  : Operation extends 'getOpenApi' | 'getAsyncApi' | 'getAsset'
    ? DocumentAnswer
    : RouteAnswer<Operation>;

export type Handler<Operation extends OperationId> = (input: HandlerInput<Operation>) => Promise<AnswerOf<Operation>>;

/** The handlers of all routes of the contract. A missing handler is a compile error. */
export type Handlers = { [Operation in OperationId]: Handler<Operation> };
