import { describe, expect, it } from '@jest/globals';
import type { Span } from '@uswarm/service-kit';
import { describeCall, describeEnd } from './call-span.js';

const USAGE = {
  prompt_tokens: 10,
  completion_tokens: 5,
  cached_tokens: 3,
  reasoning_tokens: 0,
  estimated: false,
  outcome: 'completed',
} as const;

function recordedSpan() {
  const seen = { name: 'chat', attributes: {} as Record<string, unknown>, failed: false };
  const span = {
    updateName: (name: string) => void (seen.name = name),
    setAttributes: (attributes: object) => void Object.assign(seen.attributes, attributes),
    setAttribute: (key: string, value: unknown) => void (seen.attributes[key] = value),
    setStatus: () => void (seen.failed = true),
  };
  return { seen, span: span as unknown as Span };
}

describe('the span of a model call', () => {
  it('names the model, the turn and the tokens, by the semantic conventions', () => {
    const { seen, span } = recordedSpan();
    describeCall(span, { model: 'gpt', maxOutputTokens: 100, turnId: 't' });
    describeEnd(span, USAGE, '');
    expect(seen).toEqual({
      name: 'chat gpt',
      attributes: {
        'gen_ai.request.model': 'gpt',
        'gen_ai.request.max_tokens': 100,
        'uswarm.turn': 't',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 5,
        'uswarm.usage.estimated': false,
      },
      failed: false,
    });
  });

  it('has the error of a call that was cut or rejected', () => {
    const { seen, span } = recordedSpan();
    describeEnd(span, USAGE, 'cut');
    expect(seen).toMatchObject({ attributes: { 'error.type': 'cut' }, failed: true });
  });
});
