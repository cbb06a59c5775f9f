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

describe('a call that reads a page', () => {
  const page = { id: 'p1', name: 'read_page_tool', input: { url: 'https://example.org/tea/?q=1#part' } };
  const turn = { journaled: true, tools: ['web_search_tool', 'read_page_tool'] };

  it('is announced with its exact address, and shown without what is not sent', async () => {
    const tools = searchTool(() => ({ text: 'Green tea.', failed: false }));
    const { events } = await run([request(page), answer('Done.')], { tools, turn });
    const shown = events.flatMap((event) => (event.case === 'tool' ? [event.value] : []));
    expect(shown[0]).toMatchObject({ query: page.input.url, description: 'Reading example.org/tea/?q=1' });
  });

  it('waits for the user, while other calls end, and is made after the decision', async () => {
    const made: unknown[] = [];
    const source = searchTool(() => ({ text: 'found', failed: false }));
    const tools = {
      ...source,
      call: async (...args: Parameters<typeof source.call>) => {
        made.push({ name: args[0], token: args[3] });
        return source.call(...args);
      },
    };
    const announced = (callId: string) =>
      callId === 'p1' ? { failed: true, text: 'asked', waits: true } : { toolToken: 'search' };
    const { events } = await run([request(page, call), answer('Done.')], {
      tools,
      turn,
      announced,
      decision: async () => ({ toolToken: 'page' }),
    });
    expect(made).toEqual([
      { name: 'web_search_tool', token: 'search' },
      { name: 'read_page_tool', token: 'page' },
    ]);
    expect(events.filter((event) => event.case === 'waiting').length).toBeLessThanOrEqual(1);
  });

  it('is not made if the user denies it', async () => {
    const tools = searchTool(() => ({ text: 'found', failed: false }));
    const { asked, events } = await run([request(page), answer('Done.')], {
      tools,
      turn,
      announced: () => ({ failed: true, text: 'asked', waits: true }),
      decision: async () => ({ failed: true, text: 'The user denied it.' }),
    });
    expect(words(asked[1])).toContain('The user denied it.');
    expect(events.filter((event) => event.case === 'waiting')).toHaveLength(1);
  });
});
