import type { ApiError } from '@uswarm/contract';
import { Router } from 'express';
import type { z } from 'zod';
import { clientGone } from '../../platform/http/client-gone.js';
import { ClientGone, toApiError } from '../../platform/http/errors.js';
import { parseInput } from '../../platform/http/input.js';
import type { Answer, Ask } from '../ask.js';
import type { AskedOnce } from '../asked-once.js';
import { type AuthenticateProgram, mountDoor, textOf } from '../enter.js';
import { type EventStream, openEventStream } from '../event-stream.js';
import { chatChunks, chatCompletion } from './chat.js';
import { ChatRequest, type DoorRequest, questionOf, ResponsesRequest } from './request.js';
import { responseEvents, responseOf } from './responses.js';

export interface OpenAiDoorDeps {
  ask: Ask;
  askedOnce: AskedOnce;
  authenticate: AuthenticateProgram;
}

/** Writes an answer while it arrives. */
type Streamed = ReturnType<typeof chatChunks>;

interface Form {
  operationId: string;
  schema: z.ZodType<DoorRequest>;
  whole(model: string, created: number, answer: Answer): object;
  streamed(stream: EventStream, request: DoorRequest, created: number): Streamed;
}

/** OpenAI's protocol: Chat Completions and Responses. Each agent is a model. */
export function createOpenAiDoor({ ask, askedOnce, authenticate }: OpenAiDoorDeps): Router {
  const router = Router();

  function mount(path: string, { operationId, schema, whole, streamed }: Form): void {
    const entrance = { operationId, errorBody, authenticate };
    mountDoor(router, path, entrance, async (actor, request, response) => {
      const signal = clientGone(response);
      const created = Math.floor(Date.now() / 1_000);
      const body = parseInput(schema, request.body ?? {});
      let stream: EventStream | undefined;
      let writer: Streamed | undefined;
      try {
        const question = await askedOnce({ actor, question: questionOf(body, request.headers), request, response });
        const answer = await ask(actor, question, {
          signal,
          onAsked(asked) {
            // The packages would ask a question again whose answer has failed.
            response.set({ 'X-Conversation-Id': asked.conversationId, 'X-Should-Retry': 'false' });
            if (body.stream !== true) return;
            stream = openEventStream(response);
            writer = streamed(stream, body, created);
            writer.asked(asked);
          },
          onText: (part) => writer?.text(part),
        });
        if (writer === undefined) response.json(whole(body.model, created, answer));
        else writer.end(answer);
      } catch (error) {
        if (error instanceof ClientGone || stream === undefined) throw error;
        // The status was sent: clients read the error in the stream.
        const failure = toApiError(error);
        response.locals['code'] = failure.code;
        stream.send(errorBody(failure));
      }
      stream?.end('[DONE]');
    });
  }

  mount('/v1/chat/completions', {
    operationId: 'openAiChatCompletions',
    schema: ChatRequest,
    whole: chatCompletion,
    streamed: chatChunks,
  });
  mount('/v1/responses', {
    operationId: 'openAiResponses',
    schema: ResponsesRequest,
    whole: responseOf,
    streamed: responseEvents,
  });
  return router;
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** An unknown agent is an unknown model to them. */
const errorBody = (error: ApiError) => ({
  error: {
    message: textOf(error),
    type: typeOf(error.status),
    param: null,
    code: error.code === 'agent_not_found' ? 'model_not_found' : error.code,
  },
});
