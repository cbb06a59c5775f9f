import type { ApiError } from '@uswarm/contract';
import { Router } from 'express';
import { clientGone } from '../../platform/http/client-gone.js';
import { ClientGone, toApiError } from '../../platform/http/errors.js';
import { parseInput } from '../../platform/http/input.js';
import { AnswerFailure } from '../answer-text.js';
import type { Ask } from '../ask.js';
import { type AuthenticateProgram, mountDoor, textOf } from '../enter.js';
import { type EventStream, openEventStream } from '../event-stream.js';
import { questionOf, RunInput } from './request.js';
import { writeRun } from './run-events.js';

export interface AgUiDoorDeps {
  ask: Ask;
  authenticate: AuthenticateProgram;
}

/** AG-UI 1.0 over HTTP and server-sent events. A thread is a conversation, and a run follows an answer. */
export function createAgUiDoor({ ask, authenticate }: AgUiDoorDeps): Router {
  const router = Router();
  mountDoor(router, '/v1/ag-ui', { operationId: 'agUi', errorBody, authenticate }, async (actor, request, response) => {
    const input = parseInput(RunInput, request.body ?? {});
    let stream: EventStream | undefined;
    const run = writeRun((event) => stream?.send(event), input);
    try {
      const { cards } = await ask(actor, questionOf(input, request.query), {
        signal: clientGone(response),
        onAsked({ conversationId }) {
          response.set('X-Conversation-Id', conversationId);
          stream = openEventStream(response);
          run.start();
        },
        onPart: run.part,
      });
      run.end(cards);
    } catch (error) {
      // Before the stream, the status tells what is wrong.
      if (error instanceof ClientGone || stream === undefined) throw error;
      const failure = toApiError(error);
      const reason = failure instanceof AnswerFailure ? failure.reason : failure.code;
      response.locals['code'] = reason === 'stopped' ? undefined : failure.code;
      if (reason === 'stopped') run.cancel();
      else run.fail(reason, failure.message);
    }
    stream?.end();
  });
  return router;
}

/** As the event that ends a run which has begun. */
const errorBody = (error: ApiError) => ({ type: 'RUN_ERROR', code: error.code, message: textOf(error) });
