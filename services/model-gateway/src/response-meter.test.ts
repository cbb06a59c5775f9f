import { describe, expect, it } from '@jest/globals';
import { TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import fc from 'fast-check';
import { delta, sse, usageChunk } from '../test/provider-server.js';
import { anthropic } from './protocols/anthropic.js';
import { openai } from './protocols/openai.js';
import type { Protocol } from './protocols/protocol.js';
import { createResponseMeter } from './response-meter.js';

const bytes = (text: string): Buffer => Buffer.from(text);

/** Usage in a stream that arrives in parts of these sizes. */
function metered(
  protocol: Protocol,
  stream: Buffer,
  sizes: readonly number[],
  { promptEstimate = 7, isCut = false } = {},
) {
  const meter = createResponseMeter(protocol);
  let at = 0;
  for (const size of sizes) {
    meter.push(stream.subarray(at, at + size));
    at += size;
  }
  meter.push(stream.subarray(at));
  return meter.usage({ isCut, estimatePrompt: () => promptEstimate });
}

const ANTHROPIC = sse(
  { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 } } },
  { type: 'content_block_delta', delta: { type: 'text_delta', text: 'Grüße 你好' } },
  { type: 'message_delta', delta: {}, usage: { output_tokens: 9 } },
);

describe('the meter of a response', () => {
  it.each([
    ['OpenAI', openai, `${sse(delta('Grüße 你好'), delta('', 'stop'), usageChunk(40, 6))}data: [DONE]\n\n`],
    ['Anthropic', anthropic, ANTHROPIC],
  ])('reads the same usage from a stream of %s however it is split', (_name, protocol, text) => {
    const whole = metered(protocol, bytes(text), []);
    expect(whole).toMatchObject({ estimated: false });
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 })), (sizes) => {
        expect(metered(protocol, bytes(text), sizes)).toEqual(whole);
      }),
    );
  });

  it.each([
    ['an error', { error: { message: 'overloaded' } }],
    ['no reason', delta(' of tea')],
  ])('estimates what a provider may have generated after a stream that ends with %s', (_end, last) => {
    const usage = metered(openai, bytes(sse(delta('All'), last)), []);
    expect(usage.completion_tokens).toBeGreaterThan(TOKENS_IN_FLIGHT);
  });

  it('never throws and never reports less than the streamed text if the stream is cut anywhere', () => {
    const text = bytes(ANTHROPIC);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: text.byteLength }), (end) => {
        const usage = metered(anthropic, text.subarray(0, end), [], { promptEstimate: 1_000, isCut: true });
        const reported = text.subarray(0, end).includes('output_tokens":1}}}');
        expect(usage.prompt_tokens).toBe(reported ? 7 : 1_000);
        const said = text.subarray(0, end).includes('你好"}}');
        expect(usage.completion_tokens).toBeGreaterThanOrEqual(said ? 5 : 0);
      }),
    );
  });

  it('ignores events of any form', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(openai, anthropic), (events, protocol) => {
        const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
        const usage = metered(protocol, bytes(text), []);
        for (const tokens of [usage.prompt_tokens, usage.completion_tokens]) expect(tokens).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('takes the last usage if a server reports it in each event, and an estimate if it is cut between', () => {
    const event = (completion: number, finish: string | null) => ({
      ...delta('word', finish),
      usage: { prompt_tokens: 10, completion_tokens: completion },
    });
    const done = metered(openai, bytes(sse(event(1, null), event(2, 'stop'))), []);
    expect(done).toMatchObject({ prompt_tokens: 10, completion_tokens: 2, estimated: false });
    const cut = metered(openai, bytes(sse(event(1, null), event(2, null))), [], { isCut: true });
    expect(cut).toMatchObject({ prompt_tokens: 10, completion_tokens: 52, estimated: true });
  });

  it('counts a line that is too long as output, however it is split, and reads the lines after it', () => {
    const long = 'word '.repeat(300_000);
    const text = bytes(sse(delta(long), delta('end', 'stop')));
    const whole = metered(openai, text, []);
    expect(whole.completion_tokens).toBeGreaterThanOrEqual(300_000);
    const split = metered(
      openai,
      text,
      Array.from({ length: 20 }, () => 70_001),
    );
    expect(split.completion_tokens).toBeGreaterThanOrEqual(300_000);
    const reported = metered(openai, Buffer.concat([text, bytes(sse(usageChunk(40, 300_001)))]), []);
    expect(reported).toMatchObject({ prompt_tokens: 40, completion_tokens: 300_001, estimated: false });
  });
});
