import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PromptMessage } from '../models/port.js';
import { COUNTED_TEXTS } from '../../test/counted-texts.js';
import { estimateMessage, estimatePrompt, estimateText, estimateTools } from './estimate.js';

const text = fc.string({ unit: 'binary', maxLength: 60 });

describe('the estimate of a text', () => {
  it.each(COUNTED_TEXTS)('is from 0.9 to 2.2 times the tokens of text in $name', ({ text: counted, tokens }) => {
    expect(counted.length).toBeGreaterThanOrEqual(200);
    const ratio = estimateText(counted) / tokens;
    expect(ratio).toBeGreaterThanOrEqual(0.9);
    expect(ratio).toBeLessThanOrEqual(2.2);
  });

  it('is at most the sum of the parts that line breaks join', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        const joined = estimateText(`${one}\n\n${other}`);
        expect(joined).toBeLessThanOrEqual(estimateText(one) + estimateText(other) + 1 + 1e-9);
      }),
    );
  });

  it('is 0 only for text without visible characters', () => {
    expect(estimateText('')).toBe(0);
    fc.assert(
      fc.property(text, (some) => {
        fc.pre(some.trim() !== '');
        expect(estimateText(some)).toBeGreaterThan(0);
      }),
    );
  });
});

describe('the estimate of a request', () => {
  const message = (content: PromptMessage): number => estimateMessage(content);
  const long = 'word '.repeat(1_000);

  it.each<[string, PromptMessage]>([
    ['a system message', { role: 'system', content: long }],
    ['a text', { role: 'user', content: [{ type: 'text', text: long }] }],
    ['reasoning', { role: 'assistant', content: [{ type: 'reasoning', text: long }] }],
    [
      'the signature of reasoning',
      {
        role: 'assistant',
        content: [{ type: 'reasoning', text: '', providerOptions: { anthropic: { signature: long } } }],
      },
    ],
    [
      'the arguments of a call',
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 't', input: { query: long } }] },
    ],
    [
      'a result',
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'text', value: long } }],
      },
    ],
    [
      'a JSON result',
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'json', value: [long] } }],
      },
    ],
    [
      'the text of a result with several parts',
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'c',
            toolName: 't',
            output: { type: 'content', value: [{ type: 'text', text: long }] },
          },
        ],
      },
    ],
  ])('counts %s', (_name, content) => {
    expect(message(content)).toBeGreaterThanOrEqual(1_000);
  });

  it('counts what is sent back to the provider with a message', () => {
    const content = [{ type: 'text' as const, text: 'Hi' }];
    const providerOptions = { openaiCompatible: { reasoning_details: [{ type: 'reasoning.encrypted', data: long }] } };
    const plain = estimateMessage({ role: 'assistant', content });
    expect(estimateMessage({ role: 'assistant', content, providerOptions }) - plain).toBeGreaterThanOrEqual(1_000);
  });

  it('counts an image independently of its bytes', () => {
    const image = (data: string): PromptMessage => ({
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data } }],
    });
    expect(message(image('A'.repeat(100_000)))).toBe(message(image('A')));
    expect(message(image('A'))).toBeGreaterThan(1_500);
  });

  it('counts the names, descriptions and schemas of tools', () => {
    const tool = { type: 'function' as const, name: 't', description: long, inputSchema: { description: long } };
    expect(estimateTools([])).toBe(0);
    expect(estimateTools([tool])).toBeGreaterThanOrEqual(2_000);
    expect(estimatePrompt([], [tool])).toBe(estimateTools([tool]));
  });
});
