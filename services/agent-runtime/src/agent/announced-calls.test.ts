import { describe, expect, it } from '@jest/globals';
import { ToolState } from '@uswarm/runtime-proto';
import { answer, request, run, searchTool, words } from '../../test/scripted-turn.js';

const QUERY = ' Weather\n in \u200bBerlin ';
const call = { id: 'c1', name: 'web_search_tool', input: { query: QUERY } };

async function search(announced?: NonNullable<Parameters<typeof run>[1]>['announced']) {
  const made: unknown[] = [];
  const source = searchTool(() => ({ text: 'found', failed: false }));
  const tools = {
    ...source,
    call: async (...args: Parameters<typeof source.call>) => {
      made.push({ input: args[1], token: args[3] });
      return source.call(...args);
    },
  };
  const more = announced === undefined ? {} : { announced };
  const { asked, events } = await run([request(call), answer('Done.')], { tools, turn: { journaled: true }, ...more });
  const shown = events.flatMap((event) => (event.case === 'tool' ? [event.value] : []));
  return { made, asked, shown };
}

describe('a call of a tool server', () => {
  it('is announced with its exact query, and made with the token for it', async () => {
    const { made, shown } = await search(() => ({ toolToken: 'for this call' }));
    expect(made).toEqual([{ input: { query: QUERY }, token: 'for this call' }]);
    expect(shown[0]).toMatchObject({
      query: QUERY,
      state: ToolState.RUNNING,
      description: 'Searching the web for “Weather in Berlin”',
    });
  });

  it('invariant 11: is not made if the orchestrator refuses it, and the model learns why', async () => {
    const { made, asked, shown } = await search(() => ({ failed: true, text: 'It has text of a memory.' }));
    expect(made).toEqual([]);
    expect(words(asked[1])).toContain('It has text of a memory.');
    expect(shown.at(-1)?.state).toBe(ToolState.FAILED);
  });
});
