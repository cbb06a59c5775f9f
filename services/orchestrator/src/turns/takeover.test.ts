import { describe, expect, it } from '@jest/globals';
import { Code } from '@connectrpc/connect';
import { ToolState } from '@uswarm/runtime-proto';
import { chunk, createTurnHarness, done, entry, failure, stopped, tool } from '../../test/turn-harness.js';
import type { Progress, ReplyTexts } from './reply/turn-progress.store.js';

const RUNNING = { status: 'running', reply_message_id: 'r', runtime_instance: 'i', activity: 'writing' } as const;
const SAVED: Progress & ReplyTexts = {
  generation: 1,
  appliedEvent: 4,
  resumeFrom: 4,
  chunkSeq: 2,
  announcedStep: 1,
  text: 'Hello wor',
  received: 'Hello wor',
};
const completed = { case: 'tool', value: { callId: 'c', tool: 't', state: ToolState.COMPLETED } } as const;

describe('a turn that another process takes over', () => {
  it('continues after the events that are applied, with the text and the numbers of its parts', async () => {
    const { run, reply, calls, recorded } = createTurnHarness([{ events: [chunk('ld'), done()] }], {
      turn: RUNNING,
      saved: SAVED,
    });
    await run();
    expect(calls()).toEqual([{ generation: 1, fromEvent: 4 }]);
    expect(recorded.chunks).toMatchObject([{ offset: 9, chunk: 'ld', generation: 1 }]);
    expect(recorded.chunks[0]?.chunk_seq).toBeGreaterThan(SAVED.chunkSeq);
    expect(reply()).toMatchObject({ status: 'delivered', text: 'Hello world' });
  });

  it('runs in the next generation if the runtime has forgotten it, and does not mix their texts', async () => {
    const { run, reply, calls, recorded } = createTurnHarness(
      [failure(Code.NotFound), { events: [chunk('Another answer'), done()] }],
      { turn: RUNNING, saved: SAVED },
    );
    await run();
    expect(calls()).toEqual([
      { generation: 1, fromEvent: 4 },
      { generation: 2, fromEvent: 0 },
    ]);
    expect(recorded.chunks).toMatchObject([{ offset: 0, chunk: 'Another answer', chunk_seq: 1, generation: 2 }]);
    expect(reply()).toMatchObject({ text: 'Another answer' });
  });

  it('saves the number of each event that is complete, and not of one that is not', async () => {
    const { run, saved } = createTurnHarness(
      [
        { events: [tool, chunk('Hi'), completed], atTheEnd: () => expect(saved()?.appliedEvent).toBe(3) },
        { events: [done()] },
      ],
      { tools: ['t'] },
    );
    await run();
    expect(saved()).toMatchObject({ generation: 1, appliedEvent: 3, text: 'Hi' });
    expect.assertions(2);
  });

  it('shows no completed tool as running again if events are repeated', async () => {
    const { run, recorded } = createTurnHarness([{ events: [tool, completed, tool, completed, done('End')] }], {
      tools: ['t'],
    });
    await run();
    expect(recorded.lines).toEqual(['running', 'completed', 'completed']);
  });

  it('keeps the text of the last generation if it is stopped before the next one has a text', async () => {
    const { run, reply, requestStop } = createTurnHarness([{ events: [stopped] }], {
      turn: { ...RUNNING, generation: 2, runtime_instance: null },
      saved: { ...SAVED, text: 'So far' },
    });
    requestStop();
    await run();
    expect(reply()).toMatchObject({ status: 'incomplete', text: 'So far' });
  });

  it('stores an entry with the event that follows it', async () => {
    const { run, saved, recorded } = createTurnHarness(
      [
        { events: [entry(1), tool], barriers: [2], atTheEnd: () => expect(saved()?.appliedEvent).toBe(2) },
        { events: [done()] },
      ],
      { tools: ['t'], features: ['journal.1'] },
    );
    await run();
    expect(recorded.journal).toHaveLength(1);
    expect.assertions(2);
  });

  it('invariant 4: stores an entry before it acknowledges an event after it that stores nothing', async () => {
    let stored: number | undefined;
    const { run, recorded } = createTurnHarness([{ events: [entry(1), chunk('4'), done()], barriers: [2] }], {
      features: ['journal.1'],
      onAdvance: () => (stored ??= recorded.journal.length),
    });
    await run();
    expect(stored).toBe(1);
  });
});
