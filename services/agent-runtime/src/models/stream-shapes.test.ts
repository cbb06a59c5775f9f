import { describe, expect, it } from '@jest/globals';
import { call, fn, toolCalls } from '../../test/model-call.js';
import { delta, sendChunks, sendEvents, startEvents } from '../../test/raw-model-server.js';

const HELLO = delta({ content: 'Hello.' });
const STOP = delta({}, 'stop');
const SEARCH = toolCalls({ index: 0, id: 'x', function: fn('search', '{"q":"a"}') });

describe('a stream of the chat completions protocol', () => {
  it.each<[string, object[]]>([
    ['an error that is null', [{ ...HELLO, error: null }, STOP]],
    [
      'an error that is empty',
      [
        { ...HELLO, error: '' },
        { ...STOP, error: {} },
      ],
    ],
    ['an id and a time of other types', [{ ...HELLO, id: 5, created: '12', model: null }, STOP]],
    ['choices by their index', [{ id: '1', choices: { 0: { index: 0, delta: { content: 'Hello.' } } } }, STOP]],
    ['a delta that is a text', [{ choices: [{ index: 0, delta: 'Hello.' }] }, STOP]],
    ['a content that is one part', [delta({ content: { type: 'text', text: 'Hello.' } }), STOP]],
    ['a content that is a list of texts', [delta({ content: ['Hel', 'lo.'] }), STOP]],
    ['thoughts that are an object', [delta({ reasoning: { text: 'Hm.' }, content: '' }), HELLO, STOP]],
    ['thoughts that are a list', [delta({ reasoning_content: ['Hm.'] }), HELLO, STOP]],
    ['a finish reason that is an object', [HELLO, delta({}, { type: 'stop', matched: 1 } as never)]],
    [
      'details of usage that have other types',
      [
        HELLO,
        STOP,
        { choices: [], usage: { prompt_tokens: 3, completion_tokens_details: 'x', prompt_tokens_details: [] } },
      ],
    ],
  ])('can have %s', async (_shape, chunks) => {
    const { text, step, requests } = await call((response) => sendChunks(response, chunks));
    expect({ text, finish: step?.finish, requests: requests.length }).toEqual({
      text: 'Hello.',
      finish: 'answered',
      requests: 1,
    });
  });

  it.each(['', 'ping', 'null', '"[DONE]"'])('can have an event with the data %j', async (data) => {
    const { text, step } = await call((response) => {
      startEvents(response);
      response.end(
        [JSON.stringify(HELLO), data, JSON.stringify(STOP), '[DONE]'].map((one) => `data: ${one}\n\n`).join(''),
      );
    });
    expect({ text, finish: step?.finish }).toEqual({ text: 'Hello.', finish: 'answered' });
  });

  it('can have calls with a content that is a number', async () => {
    const { text, step } = await call((response) =>
      sendChunks(response, [delta({ content: 5 }), SEARCH, delta({}, 'tool_calls')]),
    );
    expect({ text, calls: step?.calls.map(({ name }) => name) }).toEqual({ text: '5', calls: ['search'] });
  });
});

const block = (index: number, content: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((one) => ({ type: 'content_block_delta', index, delta: one })),
  { type: 'content_block_stop', index },
];
const hello = (index = 0) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hello.' });
const message = (...blocks: { type: string }[]) => [
  {
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: { input_tokens: 1 } },
  },
  ...blocks,
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];

describe('a stream of the Messages protocol', () => {
  it.each<[string, { type: string }[]]>([
    ['the text in the start of its block', block(0, { type: 'text', text: 'Hello.' })],
    ['a start without a text', block(0, { type: 'text' }, { type: 'text_delta', text: 'Hello.' })],
    [
      'thoughts whose start is empty',
      [...block(0, { type: 'thinking' }, { type: 'thinking_delta', thinking: 'Hm.' }), ...hello(1)],
    ],
    ['an unknown block', [...block(0, { type: 'new_block', x: 1 }, { type: 'new_delta', x: 1 }), ...hello(1)]],
    [
      'an unknown delta',
      block(0, { type: 'text', text: '' }, { type: 'new_delta', x: 1 }, { type: 'text_delta', text: 'Hello.' }),
    ],
    ['no indexes', hello().map(({ index: _index, ...rest }: { type: string; index?: number }) => rest)],
  ])('can have %s', async (_shape, blocks) => {
    const { text, step } = await call((response) => sendEvents(response, message(...blocks)), {
      provider: 'anthropic',
    });
    expect({ text, finish: step?.finish }).toEqual({ text: 'Hello.', finish: 'answered' });
  });

  it.each([undefined, 7])('can have a call with the id %s', async (id) => {
    const input = { type: 'input_json_delta', partial_json: '{"q":"a"}' };
    const blocks = block(0, { type: 'tool_use', id, name: 'search', input: {} }, input);
    const { step } = await call((response) => sendEvents(response, message(...blocks)), { provider: 'anthropic' });
    expect(step?.calls).toMatchObject([{ name: 'search', input: { q: 'a' } }]);
  });
});
