import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from '@jest/globals';
import { ACTION_CARD_TOOL } from '@uswarm/contract/agent-tools';
import type { ToolPart } from '@uswarm/mcp-client';
import { type Entry, EntryKind, EntrySchema, Outcome, ToolState } from '@uswarm/runtime-proto';
import { MAX_TURN_IMAGE_BYTES } from '@uswarm/service-kit';
import fc from 'fast-check';
import { answer, end, request, run, search, searchTool, text, usage } from '../../test/scripted-turn.js';
import type { StepEvent, StepRequest, ToolCall } from '../models/port.js';
import type { TurnEventBody } from '../turns/turn-events.js';
import { foldJournal } from './journal.js';

type Move = readonly StepEvent[];

const entriesOf = (events: readonly TurnEventBody[]): Entry[] =>
  events.flatMap((event) => (event.case === 'entry' ? [event.value] : []));

/** The prompts, without the random boundaries around untrusted text. */
const prompts = (asked: readonly StepRequest[]): string[] =>
  asked.map(({ prompt }) => JSON.stringify(prompt).replaceAll(/untrusted-[\w-]+|id=\\"[^"]+\\"/g, 'boundary'));

/** Stored by orchestrators that commit an entry with its output. */
const LARGE = { entryBytes: 6 * 1024 * 1024, journalBytes: 16 * 1024 * 1024 };
const SMALL_ENTRY = 128 * 1024;

const image = (bytes: number): ToolPart => ({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(bytes) });

/** Runs a turn that continues after a journal. `steps`: how many model calls the journal has. */
async function resume(moves: readonly Move[], journal: readonly Entry[], limits?: typeof LARGE, imageBytes = 0) {
  const called: string[] = [];
  const steps = journal.filter(({ kind }) => kind === EntryKind.STEP).length;
  const tools = searchTool(({ query }) => {
    called.push(String(query));
    const parts = imageBytes === 0 ? {} : { parts: [image(imageBytes)] };
    return { text: `found ${String(query)}`, failed: false, ...parts };
  });
  const more = limits === undefined ? {} : { journalLimits: limits };
  const turn = { journaled: true, journal: [...journal], limits: { images: true }, ...more };
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

const noPrompts = () => undefined;

describe('a turn that continues after a prefix of its journal', () => {
  it('invariant 3: sends the model what an unbroken turn sends, repeats no call with a result, and ends with the same reply', async () => {
    const limits = fc.constantFrom(undefined, LARGE, { entryBytes: 2_000, journalBytes: 8_000 });
    // Some images are too large for the journal, or for what is left of it.
    const images = fc.constantFrom(0, 100, 1_500, SMALL_ENTRY);
    await fc.assert(
      fc.asyncProperty(turns, limits, images, async (moves, journalLimits, imageBytes) => {
        const whole = await resume(moves, [], journalLimits, imageBytes);
        const journal = entriesOf(whole.events);
        for (let length = 0; length <= journal.length; length += 1) {
          const prefix = journal.slice(0, length);
          const rest = await resume(moves, prefix, journalLimits, imageBytes);
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
      { numRuns: 100 },
    );
  });

  it('invariant 3: folds any prefix and then the rest as it folds the whole', async () => {
    const moves = [
      request(callOf('a'), callOf('b')),
      [text('Half '), end('length', 'Half ')],
      request(callOf('c')),
      answer('done'),
    ];
    const journal = entriesOf((await resume(moves as Move[], [])).events);
    expect(journal.map(({ kind }) => EntryKind[kind])).toEqual(['STEP', 'RESULT', 'RESULT', 'STEP', 'STEP', 'RESULT']);
    for (let length = 0; length <= journal.length; length += 1) {
      const prefix = foldJournal(journal.slice(0, length), noPrompts);
      expect(foldJournal(journal.slice(length), noPrompts, prefix)).toEqual(foldJournal(journal, noPrompts));
    }
    const { turn, text: reply, steps } = foldJournal(journal, noPrompts);
    expect({ roles: turn.map(({ role }) => role), reply, steps }).toEqual({
      roles: ['assistant', 'tool', 'assistant', 'user', 'assistant', 'tool'],
      reply: 'Half ',
      steps: 3,
    });
  });

  it('stays silent without another model call if the journal ends with that', async () => {
    const moves = [request({ id: 's', name: 'stay_silent', input: {} }), answer('I should be silent.')] as Move[];
    const journal = entriesOf((await resume(moves, [])).events);
    expect(journal.map(({ kind }) => EntryKind[kind])).toEqual(['STEP', 'RESULT']);
    const { asked, done } = await resume(moves, journal);
    expect({ asked, outcome: done.outcome, text: done.text }).toEqual({ asked: [], outcome: Outcome.SILENT, text: '' });
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

  it.each([
    { limits: undefined, bytes: SMALL_ENTRY, stored: ['STEP', 'RESULT', 'STEP'] },
    { limits: LARGE, bytes: LARGE.entryBytes, stored: ['STEP', 'RESULT', 'STEP'] },
    { limits: LARGE, bytes: SMALL_ENTRY, stored: ['STEP', 'RESULT', 'STEP', 'RESULT', 'STEP', 'RESULT'] },
  ])(
    'ends before an entry above its limit, and the turn continues: $bytes bytes',
    async ({ limits, bytes, stored }) => {
      const tools = searchTool(({ query }) => ({ text: query === 'b' ? 'x'.repeat(bytes) : 'short', failed: false }));
      const moves = [request(callOf('a')), request(callOf('b')), request(callOf('c')), answer('done')];
      const more = limits === undefined ? {} : { journalLimits: limits };
      const { events, done } = await run(moves, { tools, turn: { journaled: true, ...more } });
      expect(entriesOf(events).map(({ kind }) => EntryKind[kind])).toEqual(stored);
      expect(done.text).toBe('done');
    },
  );

  it.each([
    { size: 'small', bytes: 1_000, limits: LARGE, hasImage: true },
    {
      size: 'too large for an orchestrator with small journals',
      bytes: SMALL_ENTRY,
      limits: undefined,
      hasImage: false,
    },
    { size: 'larger than the journal', bytes: LARGE.entryBytes, limits: LARGE, hasImage: false },
  ])('has the images that the model reads, and a note in place of others: an image that is $size', async (example) => {
    const { events, asked } = await (async () => {
      const more = example.limits === undefined ? {} : { journalLimits: example.limits };
      const tools = searchTool(() => ({ text: 'a chart', failed: false, parts: [image(example.bytes)] }));
      const turn = { journaled: true, limits: { images: true }, ...more };
      return run([request(search), answer('done')], { tools, turn });
    })();
    const [, result] = entriesOf(events);
    for (const read of [JSON.stringify(asked[1]?.prompt), result?.body ?? '']) {
      expect(read.includes('AAAA')).toBe(example.hasImage);
      expect(read.includes('no longer available')).toBe(!example.hasImage);
    }
  });

  it.each([
    { what: 'is not stored', turn: {} },
    {
      what: 'has ended',
      turn: { journaled: true, journalLimits: { entryBytes: 1024, journalBytes: LARGE.journalBytes } },
    },
    {
      what: 'is larger than that of this release',
      turn: {
        journaled: true,
        journalLimits: { entryBytes: 2 * MAX_TURN_IMAGE_BYTES, journalBytes: 4 * MAX_TURN_IMAGE_BYTES },
      },
    },
  ])('limits the images of a model request if the journal $what', async ({ turn }) => {
    const tools = searchTool(({ query }) => ({
      text: query === 'a' ? 'x'.repeat(2048) : 'a chart',
      failed: false,
      ...(query === 'a' ? {} : { parts: [image(MAX_TURN_IMAGE_BYTES / 3)] }),
    }));
    const calls = ['a', 'b', 'c', 'd', 'e'].map((id) => request(callOf(id)));
    const { asked, done } = await run([...calls, answer('done')], {
      tools,
      turn: { limits: { images: true }, ...turn },
    });
    const data = 'A'.repeat(MAX_TURN_IMAGE_BYTES / 3);
    const images = asked.map(({ prompt }) => JSON.stringify(prompt).split(data).length - 1);
    expect(images).toEqual([0, 0, 1, 2, 2, 2]);
    expect(done.text).toBe('done');
  });

  it('invariant 2: has what an entry produces in the entry, so that it is committed with it', async () => {
    const card: ToolCall = {
      id: 'card',
      name: ACTION_CARD_TOOL,
      input: { title: 'Which?', actions: [{ label: 'One' }] },
    };
    const calls = [usage(7, 5, true), { ...usage(10, 3), isLast: true }, end('calls', '', [search, card])] as Move;
    const { events } = await run([calls, [{ ...usage(20, 4), isLast: true }, ...answer('done')] as Move], {
      tools: searchTool(() => ({ text: '{"results":[{"title":"Llama","url":"https://a.example/"}]}', failed: false })),
      turn: { journaled: true, journalLimits: LARGE, tools: ['web_search_tool', ACTION_CARD_TOOL] },
    });
    const results = entriesOf(events).filter(({ kind }) => kind === EntryKind.RESULT);
    expect({
      // A failed attempt and the last step have no entry.
      usage: events.flatMap((event) => (event.case === 'usage' ? [event.value.step] : [])),
      step: entriesOf(events)[0]?.usage?.step,
      tools: events.flatMap((event) => (event.case === 'tool' ? [ToolState[event.value.state]] : [])),
      ended: results.flatMap(({ tool }) => (tool === undefined ? [] : [ToolState[tool.state]])),
      messages: events.filter((event) => event.case === 'message').length,
      cards: results.flatMap(({ message }) => (message === undefined ? [] : [message.key])),
      records: results.flatMap(({ call }) => call?.sources.map(({ title, address }) => ({ title, address })) ?? []),
    }).toEqual({
      usage: [1, 3],
      step: 2,
      tools: ['RUNNING'],
      ended: ['COMPLETED'],
      messages: 0,
      cards: ['card'],
      records: [{ title: 'Llama', address: 'https://a.example/' }],
    });
  });

  it('has nothing but the entry for an orchestrator without the feature, which stores the rest separately', async () => {
    const { events } = await run(
      [[{ ...usage(10, 3), isLast: true }, end('calls', '', [search])] as Move, answer('done')],
      {
        tools: searchTool(() => ({ text: 'found', failed: false })),
        turn: { journaled: true },
      },
    );
    for (const { usage: used, tool, message, call } of entriesOf(events)) {
      expect({ used, tool, message, call }).toEqual({});
    }
    expect(events.map((event) => event.case)).toEqual([
      'activity',
      'activity',
      'usage',
      'entry',
      'tool',
      'tool',
      'entry',
      'activity',
      'chunk',
    ]);
  });

  it('cannot be folded if it has an unknown kind of entry', () => {
    expect(() => foldJournal([create(EntrySchema, { number: 1, body: '{}' })], noPrompts)).toThrow('unknown kind');
  });
});
