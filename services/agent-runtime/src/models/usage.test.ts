import { describe, expect, it } from '@jest/globals';
import { estimatePromptTokens, estimateTokens, TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import { createUsageMeter } from './usage.js';

const TEXT = 'four words of text';
const BODY = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] });
const usage = (prompt: unknown, completion: unknown) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});

/** Measures a response of chunks, each with the text that it contains. */
function measure(chunks: readonly { chunk?: unknown; text?: string }[], complete = true) {
  const meter = createUsageMeter();
  for (const { chunk = {}, text } of chunks) {
    meter.observe(chunk);
    if (text !== undefined) meter.output(text);
  }
  const { promptTokens, completionTokens, estimated } = meter.result({ model: 'm', requestBody: BODY, complete });
  return { promptTokens, completionTokens, estimated };
}

describe('the usage of an attempt', () => {
  it('is that of a chunk after the text, or of the chunk with the last text', () => {
    const reported = { promptTokens: 10, completionTokens: 2, estimated: false };
    expect(measure([{ text: TEXT }, { chunk: usage(10, 2) }])).toEqual(reported);
    expect(measure([{ text: 'four words' }, { chunk: usage(10, 2), text: ' of text' }])).toEqual(reported);
  });

  it('is estimated if text follows the last report', () => {
    const early = measure([{ chunk: usage(10, 0) }, { text: TEXT }]);
    expect(early).toEqual({ promptTokens: 10, completionTokens: estimateTokens(TEXT), estimated: true });
  });

  it.each([
    ['negative', usage(-1, -1)],
    ['a text', usage('10', '2')],
    ['null', usage(null, null)],
    ['absent', {}],
  ])('is estimated if it is %s', (_name, chunk) => {
    expect(measure([{ text: TEXT }, { chunk }])).toEqual({
      promptTokens: estimatePromptTokens(BODY),
      completionTokens: estimateTokens(TEXT),
      estimated: true,
    });
  });

  it('includes what a provider may have generated before it noticed that the attempt was cut', () => {
    expect(measure([{ chunk: usage(10, 1), text: TEXT }], false)).toEqual({
      promptTokens: 10,
      completionTokens: estimateTokens(TEXT) + TOKENS_IN_FLIGHT,
      estimated: true,
    });
  });
});
