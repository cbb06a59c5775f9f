import type { ModelStep } from '@uswarm/dev-servers';
import type { WordedCall } from './app-servers.js';

function chunk(delta: object, counts: string, finish: string | null = null): ModelStep {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const body = { id: 'x', object: 'chat.completion.chunk', created: 0, model: 'scripted', choices };
  return { raw: `data: ${JSON.stringify(body)}\n\n`, counts };
}

const part = (more: object, counts: string): ModelStep => chunk({ tool_calls: [{ index: 0, ...more }] }, counts);

/** Steps that stream a call, with an end in the middle of its arguments. */
export function callInParts({ name, arguments: input }: WordedCall): { begin: ModelStep; end: ModelStep[] } {
  const text = JSON.stringify(input);
  const half = Math.ceil(text.length / 2);
  const [first, second] = [text.slice(0, half), text.slice(half)];
  return {
    begin: part({ id: 'call', type: 'function', function: { name, arguments: first } }, `${name} ${first}`),
    end: [part({ function: { arguments: second } }, second), chunk({}, '', 'tool_calls'), { raw: 'data: [DONE]\n\n' }],
  };
}
