import { describe, expect, it } from '@jest/globals';
import { answer, call, fn, QUESTION, toolCalls } from '../../test/model-call.js';
import { delta, sendChunks, startEvents } from '../../test/raw-model-server.js';
import type { Prompt, Step } from './port.js';

describe('a model call', () => {
  it('streams text, and reports usage before the result', async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const {
      text,
      step,
      usage: used,
    } = await call((response) => sendChunks(response, [...answer('Hi you'), { choices: [], usage }]));
    expect(text).toBe('Hi you');
    expect(step).toMatchObject({ finish: 'answered', text: 'Hi you', calls: [] });
    expect(used).toEqual([
      {
        model: 'scripted',
        promptTokens: 20,
        completionTokens: 7,
        cachedTokens: 5,
        reasoningTokens: 3,
        estimated: false,
      },
    ]);
  });

  it('sends limits, tools and the key', async () => {
    const { requests } = await call((response) => sendChunks(response, answer('ok')), {
      request: { toolChoice: 'none' },
    });
    expect(requests[0]?.headers['authorization']).toBe('Bearer key');
    expect(requests[0]?.body).toMatchObject({
      model: 'scripted',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      tool_choice: 'none',
      tools: [{ function: { name: 'search' } }, { function: { name: 'open' } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
    });
  });

  it('sends the token of the turn instead of the key', async () => {
    const { requests } = await call((response) => sendChunks(response, answer('ok')), { token: () => 'turn-token' });
    expect(requests[0]?.headers['authorization']).toBe('Bearer turn-token');
  });

  it.each<[string, object[], Partial<Step>]>([
    ['the output limit', [delta({ content: 'Half' }), delta({}, 'length')], { finish: 'length', text: 'Half' }],
    ['a content filter', [delta({ content: '' }), delta({}, 'content_filter')], { finish: 'refused', text: '' }],
    ['a refusal', [delta({ refusal: 'I cannot.' }), delta({}, 'stop')], { finish: 'refused', text: 'I cannot.' }],
    [
      'stop with calls',
      [toolCalls({ index: 0, id: 'x', function: fn('search', '{}') }), delta({}, 'stop')],
      { finish: 'calls' },
    ],
    [
      'tool_calls without calls',
      [delta({ content: 'Well.' }), delta({}, 'tool_calls')],
      { finish: 'answered', text: 'Well.' },
    ],
    ['[DONE] without a finish reason', [delta({ content: 'Hi' })], { finish: 'answered', text: 'Hi' }],
    [
      'a last choice without a delta',
      [delta({ content: 'Hi' }), { choices: [{ index: 0, finish_reason: 'stop' }] }],
      { finish: 'answered', text: 'Hi' },
    ],
  ])('recognizes why a response ended: %s', async (_name, chunks, expected) => {
    const { step, error } = await call((response) => sendChunks(response, chunks));
    expect(error).toBeUndefined();
    expect(step).toMatchObject(expected);
  });

  it.each<[string, object[]]>([
    ['as <think> text', [delta({ content: '<think>Hm' }), delta({ content: 'm.</think>\n\nHi' }), delta({}, 'stop')]],
    [
      'as <think> text with split tags',
      [...'<think>Hmm.</think> Hi'].map((content) => delta({ content })).concat(delta({}, 'stop')),
    ],
    ['as reasoning_content', [delta({ reasoning_content: 'Hmm.' }), ...answer('Hi')]],
    ['as reasoning', [delta({ reasoning: 'Hmm.' }), ...answer('Hi')]],
    [
      'as a list of parts',
      [
        delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hmm.' }] }] }),
        delta({ content: [{ type: 'text', text: 'Hi' }] }),
        delta({}, 'stop'),
      ],
    ],
  ])('never shows reasoning: %s', async (_name, chunks) => {
    const { text, step } = await call((response) => sendChunks(response, chunks));
    expect(text).toBe('Hi');
    expect(step?.message.content).toMatchObject([
      { type: 'reasoning', text: 'Hmm.' },
      { type: 'text', text: 'Hi' },
    ]);
  });

  it('sends back the signature of a call and the reasoning unchanged', async () => {
    const extra = { google: { thought_signature: 'c2lnbmF0dXJl' } };
    const first = await call((response) =>
      sendChunks(response, [
        delta({ reasoning_content: 'I search.' }),
        toolCalls({ index: 0, id: 'x', function: fn('search', '{}'), extra_content: extra }),
        delta({}, 'tool_calls'),
      ]),
    );
    const id = first.step?.calls[0]?.id ?? '';
    const output = { type: 'text' as const, value: 'found' };
    const prompt: Prompt = [
      ...QUESTION,
      first.step!.message,
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: id, toolName: 'search', output }] },
    ];
    const second = await call((response) => sendChunks(response, answer('ok')), { request: { prompt } });
    expect(((second.requests[0]?.body['messages'] ?? []) as object[]).slice(2)).toMatchObject([
      { role: 'assistant', reasoning_content: 'I search.', tool_calls: [{ id, extra_content: extra }] },
      { role: 'tool', tool_call_id: id, content: 'found' },
    ]);
  });

  it('sends back encrypted reasoning unchanged, as fields of the message', async () => {
    const details = [{ type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'r1' }];
    const more = [{ type: 'reasoning.text', text: 'Hmm.', signature: 's' }];
    const first = await call((response) =>
      sendChunks(response, [
        delta({ content: '', reasoning_details: details }),
        delta({ reasoning_details: more }),
        delta({ content: 'Hi', extra_content: { google: { thought_signature: 'c2ln' } } }),
        delta({}, 'stop'),
      ]),
    );
    expect(first.text).toBe('Hi');
    const prompt: Prompt = [...QUESTION, first.step!.message, ...QUESTION.slice(1)];
    const second = await call((response) => sendChunks(response, answer('ok')), { request: { prompt } });
    expect(((second.requests[0]?.body['messages'] ?? []) as object[])[2]).toEqual({
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [...details, ...more],
      extra_content: { google: { thought_signature: 'c2ln' } },
    });
  });

  it('keeps a character whose halves are in two chunks', async () => {
    const { text, step } = await call((response) =>
      sendChunks(response, [delta({ content: 'A\ud83d' }), delta({ content: '\ude00B' }), delta({}, 'stop')]),
    );
    expect({ text, whole: step?.text }).toEqual({ text: 'A😀B', whole: 'A😀B' });
  });

  it('reads the last event of a stream that does not end with an empty line', async () => {
    const { text, step, requests } = await call((response) => {
      sendChunks(response, [delta({ content: 'Hi' })], `data: ${JSON.stringify(delta({}, 'stop'))}`);
    });
    expect({ text, finish: step?.finish, requests: requests.length }).toEqual({
      text: 'Hi',
      finish: 'answered',
      requests: 1,
    });
  });

  it('accepts comments, CRLF, a byte order mark and packets that cut characters', async () => {
    const { text } = await call(async (response) => {
      startEvents(response);
      const bytes = Buffer.from(
        `\uFEFF: keep-alive\r\n\r\ndata: ${JSON.stringify(delta({ content: 'Grüße 🎉' }))}\r\n\r\ndata:${JSON.stringify(delta({}, 'stop'))}\r\n\r\ndata: [DONE]\r\n\r\n`,
      );
      for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.from([byte]), resolve));
      response.end();
    });
    expect(text).toBe('Grüße 🎉');
  });

  it('does not take an empty finish reason for the end of the response', async () => {
    const { text } = await call(async (response) => {
      startEvents(response);
      response.write(`data: ${JSON.stringify(delta({ content: 'Hi' }, ''))}\n\n`);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      response.write(`data: ${JSON.stringify(delta({ content: ' you' }, 'stop'))}\n\n`);
      response.end('data: [DONE]\n\n');
    });
    expect(text).toBe('Hi you');
  });

  it('counts comments as progress', async () => {
    const limits = { firstByteMs: 400, betweenBytesMs: 400, totalMs: 60_000 };
    const { text, error } = await call(
      async (response) => {
        startEvents(response);
        for (let beat = 0; beat < 8; beat += 1) {
          response.write(': processing\n\n');
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        response.write(`data: ${JSON.stringify(delta({ content: 'Hi' }, 'stop'))}\n\n`);
        response.end('data: [DONE]\n\n');
      },
      { limits },
    );
    expect(error).toBeUndefined();
    expect(text).toBe('Hi');
  });

  it('removes invisible characters from the text', async () => {
    const { text } = await call((response) => sendChunks(response, answer('a\u{E0041}\u202Eb\0c')));
    expect(text).toBe('abc');
  });

  it('removes NUL and halves of characters from the name of the model', async () => {
    const { usage } = await call((response) =>
      sendChunks(
        response,
        answer('Hi').map((chunk) => ({ ...chunk, model: 'a\0b\ud800' })),
      ),
    );
    expect(usage).toMatchObject([{ model: 'ab\ufffd' }]);
  });

  it('estimates counts that are too large for an integer', async () => {
    const counts = { prompt_tokens: 1e30, completion_tokens: 1e300 };
    const { usage } = await call((response) => sendChunks(response, [...answer('Hi'), { choices: [], usage: counts }]));
    expect(usage).toMatchObject([{ estimated: true }]);
  });

  it('reads a page of HTML with status 200 as a failure, and tries again', async () => {
    const { text, requests } = await call((response, _request, index) => {
      if (index > 0) {
        sendChunks(response, answer('Hi'));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><title>Sign in</title>');
    });
    expect({ text, requests: requests.length }).toEqual({ text: 'Hi', requests: 2 });
  });

  it('reads a complete response of a server that does not stream', async () => {
    const message = { role: 'assistant', content: 'Hi', tool_calls: null };
    const { text, step, usage } = await call((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const counts = { prompt_tokens: 3, completion_tokens: 1 };
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage: counts }));
    });
    expect({ text, finish: step?.finish }).toEqual({ text: 'Hi', finish: 'answered' });
    expect(usage).toMatchObject([{ promptTokens: 3, completionTokens: 1, estimated: false }]);
  });
});
