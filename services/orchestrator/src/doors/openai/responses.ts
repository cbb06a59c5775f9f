import type { Answer } from '../ask.js';
import type { Asked } from '../question-of.js';
import type { EventStream } from '../event-stream.js';
import type { DoorRequest } from './request.js';

const itemOf = (questionId: string, text: string, status: 'in_progress' | 'completed') => ({
  id: `msg_${questionId}`,
  type: 'message',
  role: 'assistant',
  status,
  content: status === 'completed' ? [partOf(text)] : [],
});

const partOf = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

function headOf(model: string, created: number, { questionId, conversationId }: Asked) {
  return {
    id: `resp_${questionId}`,
    object: 'response',
    created_at: created,
    model,
    conversation: { id: `conv_${conversationId}` },
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: false,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
  };
}

export function responseOf(model: string, created: number, answer: Answer) {
  const { prompt, cached, completion, reasoning } = answer.usage;
  return {
    ...headOf(model, created, answer),
    status: 'completed',
    output: [itemOf(answer.questionId, answer.text, 'completed')],
    usage: {
      input_tokens: prompt,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: completion,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: prompt + completion,
    },
  };
}

/** The events of a streamed response. */
export function responseEvents(stream: EventStream, { model }: DoorRequest, created: number) {
  let sequence = 0;
  let place: object = {};
  const emit = (type: string, fields: object): void => {
    stream.send({ type, sequence_number: sequence, ...fields }, type);
    sequence += 1;
  };
  return {
    asked(asked: Asked): void {
      const { questionId } = asked;
      const started = { ...headOf(model, created, asked), status: 'in_progress', output: [], usage: null };
      place = { item_id: `msg_${questionId}`, output_index: 0, content_index: 0 };
      emit('response.created', { response: started });
      emit('response.output_item.added', { output_index: 0, item: itemOf(questionId, '', 'in_progress') });
      emit('response.content_part.added', { ...place, part: partOf('') });
    },
    text: (delta: string) => emit('response.output_text.delta', { ...place, delta, logprobs: [] }),
    end(answer: Answer): void {
      const { text, questionId } = answer;
      emit('response.output_text.done', { ...place, text, logprobs: [] });
      emit('response.content_part.done', { ...place, part: partOf(text) });
      emit('response.output_item.done', { output_index: 0, item: itemOf(questionId, text, 'completed') });
      emit('response.completed', { response: responseOf(model, created, answer) });
    },
  };
}
