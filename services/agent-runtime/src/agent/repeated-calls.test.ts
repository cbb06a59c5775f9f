import { describe, expect, it } from '@jest/globals';
import type { PromptMessage, ToolCall } from '../models/port.js';
import { repeatedCalls } from './repeated-calls.js';

interface Made {
  name?: string;
  input?: Record<string, unknown>;
}

const step = (...calls: (Made & { id: string })[]): PromptMessage => ({
  role: 'assistant',
  content: calls.map(({ id, name = 'recall', input = { query: 'tea' } }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input,
  })),
});

/** The repeated calls of the last step. */
function repeated(...steps: Made[][]): string[] {
  const numbered = steps.map((calls, number) => calls.map((call, index) => ({ ...call, id: `${number}.${index}` })));
  const calls = (numbered.at(-1) ?? []).map(({ id }): ToolCall => ({ id, name: '', input: {} }));
  return [...repeatedCalls({ turn: numbered.map((made) => step(...made)), open: { calls, results: new Map() } })];
}

describe('a call that is repeated', () => {
  it.each([
    ['runs twice', [[{}], [{}]], []],
    ['does not run a third time', [[{}], [{}], [{}]], ['2.0']],
    ['runs with equal ones beside it', [[{}, {}, {}, {}]], []],
    [
      'does not run a third time beside other calls',
      [
        [{}, { name: 'a' }],
        [{ name: 'b' }, {}],
        [{}, {}],
      ],
      ['2.0', '2.1'],
    ],
    ['runs again after another call', [[{}], [{}], [{ name: 'forget' }], [{}]], []],
    ['runs with other arguments', [[{}], [{}], [{ input: { query: 'coffee' } }]], []],
    [
      'is recognized whatever the order of its arguments',
      [[{ input: { a: 1, b: 2 } }], [{ input: { b: 2, a: 1 } }], [{ input: { a: 1, b: 2 } }]],
      ['2.0'],
    ],
  ] satisfies [string, Made[][], string[]][])('%s', (_, steps, expected) => {
    expect(repeated(...steps)).toEqual(expected);
  });
});
