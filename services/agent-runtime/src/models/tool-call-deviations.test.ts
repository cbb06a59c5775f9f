import { describe, expect, it } from '@jest/globals';
import { call, fn, toolCalls } from '../../test/model-call.js';
import { delta, sendChunks } from '../../test/raw-model-server.js';

describe('tool calls of a model', () => {
  const search = { name: 'search', input: { q: 'a' } };
  const open = { name: 'open', input: { u: 'b' } };
  it.each<[string, object[]]>([
    [
      'without an index',
      [
        toolCalls({ id: 'x', function: fn('search', '{"q":"a"}') }),
        toolCalls({ id: 'y', function: fn('open', '{"u":"b"}') }),
      ],
    ],
    [
      'all with index 0',
      [
        toolCalls(
          { index: 0, id: 'x', function: fn('search', '{"q":"a"}') },
          { index: 0, id: 'y', function: fn('open', '{"u":"b"}') },
        ),
      ],
    ],
    [
      'with indexes from 1',
      [
        toolCalls(
          { index: 1, id: 'x', function: fn('search', '{"q":"a"}') },
          { index: 2, id: 'y', function: fn('open', '{"u":"b"}') },
        ),
      ],
    ],
    [
      'with a gap between the indexes',
      [
        toolCalls(
          { index: 0, id: 'x', function: fn('search', '{"q":"a"}') },
          { index: 7, id: 'y', function: fn('open', '{"u":"b"}') },
        ),
      ],
    ],
    [
      'whose names are repeated',
      [
        toolCalls({ index: 0, id: 'x', function: fn('search', '{"q":') }),
        toolCalls({ index: 0, id: 'x', function: fn('search', '"a"}') }),
        toolCalls({ index: 1, id: 'y', function: fn('open', '{"u":') }),
        toolCalls({ index: 1, id: 'y', function: fn('open', '"b"}') }),
      ],
    ],
    [
      'whose names are split',
      [
        toolCalls({ index: 0, id: 'x', function: fn('se', '') }, { index: 1, id: 'y', function: fn('op', '') }),
        toolCalls({ index: 0, function: fn('arch', '') }, { index: 1, function: fn('en', '') }),
        toolCalls({ index: 0, function: { arguments: '{"q":"a"}' } }, { index: 1, function: fn('', '{"u":"b"}') }),
      ],
    ],
    [
      'whose names are split, without an index or an id',
      [
        toolCalls({ function: fn('se', '') }),
        toolCalls({ function: fn('arch', '{"q":"a"}') }),
        toolCalls({ function: fn('op', '') }),
        toolCalls({ function: fn('en', '') }),
        toolCalls({ function: { arguments: '{"u":"b"}' } }),
      ],
    ],
    [
      'whose names grow',
      [
        toolCalls({ index: 0, id: 'x', function: fn('se', '') }),
        toolCalls({ index: 0, id: 'x', function: fn('search', '{"q":"a"}') }),
        toolCalls({ index: 1, id: 'y', function: fn('op', '') }),
        toolCalls({ index: 1, id: 'y', function: fn('open', '{"u":"b"}') }),
      ],
    ],
    [
      'whose names come late',
      [
        toolCalls(
          { index: 0, id: 'x', function: { arguments: '' } },
          { index: 1, id: 'y', function: { arguments: '' } },
        ),
        toolCalls({ index: 0, function: fn('search', '{"q":"a"}') }, { index: 1, function: fn('open', '{"u":"b"}') }),
      ],
    ],
    [
      'without ids',
      [toolCalls({ index: 0, function: fn('search', '{"q":"a"}') }, { index: 1, function: fn('open', '{"u":"b"}') })],
    ],
    [
      'with equal ids',
      [
        toolCalls(
          { index: 0, id: 'call_0', function: fn('search', '{"q":"a"}') },
          { index: 1, id: 'call_0', function: fn('open', '{"u":"b"}') },
        ),
      ],
    ],
    [
      'with numeric ids',
      [
        toolCalls(
          { index: 0, id: 7, function: fn('search', '{"q":"a"}') },
          { index: 1, id: 8, function: fn('open', '{"u":"b"}') },
        ),
      ],
    ],
    [
      'with arguments as objects',
      [
        toolCalls(
          { index: 0, id: 'x', function: fn('search', { q: 'a' }) },
          { index: 1, id: 'y', function: fn('open', { u: 'b' }) },
        ),
      ],
    ],
  ])('keeps two parallel tool calls apart: %s', async (_name, chunks) => {
    const { step, error } = await call((response) => sendChunks(response, [...chunks, delta({}, 'tool_calls')]));
    expect(error).toBeUndefined();
    expect(step?.finish).toBe('calls');
    expect(step?.calls).toMatchObject([search, open]);
    expect(new Set(step?.calls.map(({ id }) => id)).size).toBe(2);
    for (const { id } of step?.calls ?? []) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  it.each([
    ['empty', '', {}],
    ['null', 'null', {}],
    ['an empty object before the arguments', '{}{"q":"a"}', { q: 'a' }],
    ['not JSON', '{"q":"a",}', undefined],
    [
      'NUL and halves of characters',
      String.raw`{"q":"a\u0000b\ud800","l":[{"k\u0000":"\udc00"}]}`,
      { q: 'ab\ufffd', l: [{ k: '\ufffd' }] },
    ],
    ['a list', '[1]', undefined],
    ['cut', '{"q":"a', undefined],
  ])('reads arguments that are %s, and never sends back anything but an object', async (_name, text, input) => {
    const { step } = await call((response) =>
      sendChunks(response, [toolCalls({ index: 0, id: 'x', function: fn('search', text) }), delta({}, 'tool_calls')]),
    );
    expect(step?.calls).toMatchObject([{ name: 'search' }]);
    expect(step?.calls[0]?.input).toEqual(input);
    expect(step?.message.content).toMatchObject([{ type: 'tool-call', toolName: 'search', input: input ?? {} }]);
  });

  it('keeps two calls without arguments, index and id apart', async () => {
    const { step } = await call((response) =>
      sendChunks(response, [
        toolCalls({ function: fn('search', '') }),
        toolCalls({ function: fn('open', '') }),
        delta({}, 'tool_calls'),
      ]),
    );
    expect(step?.calls).toMatchObject([
      { name: 'search', input: {} },
      { name: 'open', input: {} },
    ]);
  });

  it('replaces the name of an unknown tool in what it sends back', async () => {
    const { step } = await call((response) =>
      sendChunks(response, [toolCalls({ index: 0, id: 'x', function: fn('my.tool', '{}') }), delta({}, 'tool_calls')]),
    );
    expect(step?.calls).toMatchObject([{ name: 'my.tool' }]);
    expect(step?.message.content).toMatchObject([{ type: 'tool-call', toolName: 'invalid_tool' }]);
  });
});
