import type { Answer } from '../ask.js';
import type { Asked } from '../question-of.js';
import type { EventStream } from '../event-stream.js';
import type { DoorRequest } from './request.js';

const headOf = (object: string, model: string, created: number, { questionId, conversationId }: Asked) => ({
  id: `chatcmpl-${questionId}`,
  object,
  created,
  model,
  conversation_id: conversationId,
});

function chatUsage({ prompt, cached, completion, reasoning }: Answer['usage']) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

export function chatCompletion(model: string, created: number, answer: Answer) {
  const message = { role: 'assistant', content: answer.text, refusal: null };
  return {
    ...headOf('chat.completion', model, created, answer),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: chatUsage(answer.usage),
  };
}

/** The chunks of a streamed completion. */
export function chatChunks(stream: EventStream, { model, includeUsage = false }: DoorRequest, created: number) {
  let head: object = {};
  const chunk = (delta: object, finish: string | null): void => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
    stream.send({ ...head, choices, ...(includeUsage ? { usage: null } : {}) });
  };
  return {
    asked(asked: Asked): void {
      head = headOf('chat.completion.chunk', model, created, asked);
      chunk({ role: 'assistant', content: '' }, null);
    },
    text: (part: string) => chunk({ content: part }, null),
    end({ usage }: Answer): void {
      chunk({}, 'stop');
      if (includeUsage) stream.send({ ...head, choices: [], usage: chatUsage(usage) });
    },
  };
}
