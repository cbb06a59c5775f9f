import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { ACTION_CARD_TOOL } from '@uswarm/contract/agent-tools';
import { type Entry, EntryKind, EntrySchema, Outcome } from '@uswarm/runtime-proto';
import fc from 'fast-check';
import { answer, end, request, run, search, searchTool, text } from '../../test/scripted-turn.js';
import type { StepEvent, StepRequest, ToolCall } from '../models/port.js';
import type { TurnEventBody } from '../turns/turn-events.js';
import { foldJournal, MAX_ENTRY_BYTES } from './journal.js';

type Move = readonly StepEvent[];

const entriesOf = (events: readonly TurnEventBody[]): Entry[] =>
  events.flatMap((event) => (event.case === 'entry' ? [event.value] : []));

/** The prompts, without the random boundaries of untrusted blocks. */
const prompts = (asked: readonly StepRequest[]): string[] =>
  asked.map(({ prompt }) => JSON.stringify(prompt).replaceAll(/untrusted-[\w-]+|id=\\"[^"]+\\"/g, 'boundary'));

/** Runs a turn that continues after a journal. `steps`: how many model calls the journal has. */
async function resume(moves: readonly Move[], journal: readonly Entry[]) {
  const called: string[] = [];
  const steps = journal.filter(({ kind }) => kind === EntryKind.STEP).length;
  const tools = searchTool(({ query }) => {
    called.push(String(query));
    return { text: `found ${String(query)}`, failed: false };
  });
  const turn = { journaled: true, journal: [...journal] };
  const { asked, events, done } = await run(moves.slice(steps), { tools, turn });
  return { asked, events, done, called, steps };
}

const callOf = (id: string, name = 'web_search_tool'): ToolCall => ({ id, name, input: { query: id } });

/** A turn of steps with calls, some of them of unknown tools, some with text before, and an answer. */
const turns = fc
  .array(
    fc.record({
      said: fc.constantFrom('', 'Let me look. '),
      calls: fc.array(fc.constantFrom('web_search_tool', 'web_search_tool', 'no_such_tool'), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((steps): Move[] => [
    ...steps.map(({ said, calls }, step): Move => {
      const requested = calls.map((name, index) => callOf(`call-${step}-${index}`, name));
      return [...(said === '' ? [] : [text(said)]), end('calls', said, requested)];
    }),
    answer('That is all.') as Move,
  ]);

describe('a turn that continues after a prefix of its journal', () => {
  it('sends the model what an unbroken turn sends, repeats no call with a result, and ends with the same reply', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (moves) => {
        const whole = await resume(moves, []);
        const journal = entriesOf(whole.events);
        for (let length = 0; length <= journal.length; length += 1) {
          const prefix = journal.slice(0, length);
          const rest = await resume(moves, prefix);
          expect(prompts(rest.asked)).toEqual(prompts(whole.asked).slice(rest.steps));
          expect(rest.done).toEqual(whole.done);
          const known = prefix
            .filter(({ kind }) => kind === EntryKind.RESULT)
            .map(({ body }) => JSON.parse(body).callId);
          expect(rest.called.toSorted()).toEqual(whole.called.filter((id) => !known.includes(id)).toSorted());
          expect(entriesOf(rest.events).map(({ number }) => number)).toEqual(
            journal.slice(length).map(({ number }) => number),
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  it('folds a prefix and then the rest as it folds the whole', async () => {
    const moves = [
      request(callOf('a'), callOf('b')),
      [text('Half '), end('length', 'Half ')],
      request(callOf('c')),
      answer('done'),
    ];
    const journal = entriesOf((await resume(moves as Move[], [])).events);
    expect(journal.map(({ kind }) => EntryKind[kind])).toEqual(['STEP', 'RESULT', 'RESULT', 'STEP', 'STEP', 'RESULT']);
    const { turn, text: reply, steps } = foldJournal(journal);
    expect({ roles: turn.map(({ role }) => role), reply, steps }).toEqual({
      roles: ['assistant', 'tool', 'assistant', 'user', 'assistant', 'tool'],
      reply: 'Half ',
      steps: 3,
    });
  });

  it('sends the text so far as its first chunk', async () => {
    const moves = [[text('First. '), end('calls', 'First. ', [search])], answer('Second.')] as Move[];
    const journal = entriesOf((await resume(moves, [])).events);
    const { events, done } = await resume(moves, journal);
    const chunks = events.flatMap((event) => (event.case === 'chunk' ? [event.value] : []));
    expect(chunks.map(({ text: piece, offset }) => ({ piece, offset }))).toEqual([
      { piece: 'First. ', offset: 0 },
      { piece: 'Second.', offset: 7 },
    ]);
    expect(done).toMatchObject({ outcome: Outcome.COMPLETED, text: 'First. Second.' });
  });

  it('does not show a card again', async () => {
    const input = { title: 'Which?', actions: [{ label: 'One' }] };
    const card: ToolCall = { id: 'card', name: ACTION_CARD_TOOL, input };
    const turn = { journaled: true, tools: [ACTION_CARD_TOOL] };
    const first = await run([request(card), answer('')], { turn });
    const journal = entriesOf(first.events);
    const second = await run([answer('')], { turn: { ...turn, journal } });
    expect(second.events.filter((event) => event.case === 'message')).toEqual([]);
    expect(second.done.outcome).toBe(Outcome.SILENT);
  });
});

describe('the journal of a turn', () => {
  it('is not sent to an orchestrator that does not store it', async () => {
    const { events } = await run([request(search), answer('done')], {
      tools: searchTool(() => ({ text: 'x', failed: false })),
    });
    expect(entriesOf(events)).toEqual([]);
  });

  it('ends before an entry that is too large, and the turn continues', async () => {
    const tools = searchTool(({ query }) => ({
      text: query === 'b' ? 'x'.repeat(MAX_ENTRY_BYTES) : 'short',
      failed: false,
    }));
    const moves = [request(callOf('a')), request(callOf('b')), request(callOf('c')), answer('done')];
    const { events, done } = await run(moves, { tools, turn: { journaled: true } });
    expect(entriesOf(events).map(({ kind }) => EntryKind[kind])).toEqual(['STEP', 'RESULT', 'STEP']);
    expect(done.text).toBe('done');
  });

  it('has a note in place of images', async () => {
    const parts = [{ type: 'image' as const, mediaType: 'image/png', data: 'AAAA' }];
    const tools = searchTool(() => ({ text: 'a chart', failed: false, parts }));
    const turn = { journaled: true, limits: { images: true } };
    const { events, asked } = await run([request(search), answer('done')], { tools, turn });
    expect(JSON.stringify(asked[1]?.prompt)).toContain('AAAA');
    const [, result] = entriesOf(events);
    expect(result?.body).toContain('no longer available');
    expect(result?.body).not.toContain('AAAA');
  });

  it('cannot be folded if it has an unknown kind of entry', () => {
    expect(() => foldJournal([create(EntrySchema, { number: 1, body: '{}' })])).toThrow('unknown kind');
  });
});
