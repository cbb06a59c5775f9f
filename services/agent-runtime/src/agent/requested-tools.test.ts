import { describe, expect, it } from '@jest/globals';
import { EntryKind, Outcome, ToolState } from '@uswarm/runtime-proto';
import {
  answer,
  end,
  lastMessage,
  request,
  run,
  search,
  searchTool,
  text,
  toolNames,
} from '../../test/scripted-turn.js';
import type { TurnEventBody } from '../turns/turn-events.js';

const spec = { name: 'remember', description: 'Saves a fact.', inputSchema: '{"type":"object"}' };
const call = { id: 'c1', name: 'remember', input: { key: 'tea' } };
const turn = { journaled: true, requestedTools: [spec] };

const entries = (events: readonly TurnEventBody[]) =>
  events.flatMap((event) => (event.case === 'entry' ? [event.value] : []));
const requests = (events: readonly TurnEventBody[]) =>
  events.flatMap((event) => (event.case === 'request' ? [event.value] : []));

describe('a tool that the orchestrator executes', () => {
  it('is offered to the model, and requested after its step is committed', async () => {
    const { asked, events, done } = await run([request(call), answer('Done.')], {
      turn,
      resolution: () => ({ text: 'Saved.' }),
    });
    expect(toolNames(asked[0])).toContain('remember');
    expect(requests(events)).toMatchObject([{ callId: 'c1', tool: 'remember', arguments: '{"key":"tea"}' }]);
    const order = events.map((event) => event.case).filter((name) => name === 'entry' || name === 'request');
    expect(order).toEqual(['entry', 'request', 'entry']);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'Done.' });
  });

  it('invariant 4: is requested when its step is committed, and the model is called again when the result is', async () => {
    const order: string[] = [];
    const noted = (what: string) => async () => void order.push(what);
    await run(
      [
        [noted('model'), ...request(call, { ...search, id: 'c2' })],
        [noted('model'), ...answer('Done.')],
      ],
      {
        turn: { ...turn, tools: ['web_search_tool'] },
        tools: searchTool(() => {
          order.push('search');
          return { text: 'found', failed: false };
        }),
        resolution: async () => {
          order.push('request');
          return { text: 'Saved.' };
        },
        async committed() {
          await new Promise((resolve) => setImmediate(resolve));
          order.push('committed');
        },
      },
    );
    expect(order[0]).toBe('model');
    expect(order[1]).toBe('committed');
    expect(order.slice(2, 5).toSorted()).toEqual(['committed', 'request', 'search']);
    expect(order.indexOf('committed', 2)).toBeLessThan(order.indexOf('search'));
    expect(order.slice(5)).toEqual(['committed', 'model']);
  });

  it('is not offered to a model whose context is too small for it', async () => {
    const large = { ...spec, name: 'large', description: 'x'.repeat(4_000) };
    const { asked } = await run([answer('Hi.')], {
      turn: { journaled: true, requestedTools: [spec, large], limits: { contextWindow: 4_096, maxOutputTokens: 512 } },
    });
    expect(toolNames(asked[0])).toEqual(['more_tools', 'remember']);
  });

  it('returns its outcome to the model as untrusted text, with its failure', async () => {
    const { asked } = await run([request(call), answer('Sorry.')], {
      turn,
      resolution: () => ({ text: 'No space left.', failed: true }),
    });
    const message = JSON.stringify(lastMessage(asked[1]));
    expect(message).toContain('No space left.');
    expect(message).toContain('<untrusted');
    expect(message).toContain('"error-text"');
  });

  it('is requested again with the same id by a turn that continues before its result', async () => {
    const first = await run([request(call), answer('Done.')], { turn, resolution: () => ({ text: 'Saved.' }) });
    const [step] = entries(first.events);
    const resumed = await run([answer('Done.')], {
      turn: { ...turn, journal: [step!] },
      resolution: () => ({ text: 'Saved.' }),
    });
    expect(requests(resumed.events).map(({ callId }) => callId)).toEqual(['c1']);
    expect(entries(resumed.events).map(({ kind }) => kind)).toEqual([EntryKind.RESULT]);
  });

  it('is requested by a turn that continues, although the tool no longer fits into the context', async () => {
    const large = { ...spec, description: 'x'.repeat(8_000) };
    const limits = { contextWindow: 4_096, maxOutputTokens: 512 };
    const first = await run([request(call), answer('Done.')], { turn, resolution: () => ({ text: 'Saved.' }) });
    const [step] = entries(first.events);
    const resumed = await run([answer('Done.')], {
      turn: { journaled: true, requestedTools: [large], limits, journal: [step!] },
      resolution: () => ({ text: 'Saved.' }),
    });
    expect(requests(resumed.events).map(({ callId }) => callId)).toEqual(['c1']);
    expect(JSON.stringify(lastMessage(resumed.asked[0]))).toContain('Saved.');
    expect(toolNames(resumed.asked[0])).toEqual(['more_tools']);
  });

  it('ends a turn without text if it showed a message', async () => {
    const { done } = await run([request(call), answer('')], {
      turn,
      resolution: () => ({ text: 'Created.', message: true }),
    });
    expect(done.outcome).toBe(Outcome.SILENT);
  });

  it('is not called if its step is too large for the journal', async () => {
    const large = { ...call, input: { key: 'x'.repeat(128 * 1024) } };
    const { asked, events } = await run([request(large), answer('Sorry.')], { turn });
    expect(requests(events)).toEqual([]);
    expect(JSON.stringify(lastMessage(asked[1]))).toContain('too long');
  });

  it('reports that the turn waits when the other calls of the step have ended', async () => {
    const { events } = await run([request(call, search), answer('Done.')], {
      turn: { ...turn, tools: ['web_search_tool'] },
      tools: searchTool(() => ({ text: 'found', failed: false })),
      resolution: () => new Promise((resolve) => setImmediate(() => resolve({ text: 'Saved.' }))),
    });
    const order = events.flatMap((event) =>
      event.case === 'tool' ? [ToolState[event.value.state]] : event.case === 'waiting' ? ['WAITING'] : [],
    );
    expect(order).toEqual(['RUNNING', 'COMPLETED', 'WAITING']);
  });

  it('continues a turn in a new reply, without the text that an earlier reply shows', async () => {
    const said = [text('I will save it.'), end('calls', 'I will save it.', [call])];
    const first = await run([said, answer('Done.')], { turn, resolution: () => ({ text: 'Saved.' }) });
    const [step] = entries(first.events);
    const { asked, events, done } = await run([answer('Done.')], {
      turn: { ...turn, journal: [step!], shownEntries: 1 },
      resolution: () => ({ text: 'Saved.' }),
    });
    expect(done.text).toBe('Done.');
    expect(events.flatMap((event) => (event.case === 'chunk' ? [event.value.text] : [])).join('')).toBe('Done.');
    expect(JSON.stringify(asked[0])).toContain('I will save it.');
  });
});
