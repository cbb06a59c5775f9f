import { describe, expect, it } from '@jest/globals';
import { brief, end, request, run, search, searchTool, text } from '../../test/scripted-turn.js';
import type { StepOptions } from '../models/port.js';
import type { TurnEventBody } from '../turns/turn-events.js';

const WAIT_MS = 600_000;
const limited = (_signal: AbortSignal, { onLongWait }: StepOptions): Promise<void> =>
  Promise.resolve(onLongWait?.(WAIT_MS));
/** A model call that the provider limits after some text, and that succeeds later. */
const call = [text('Hi'), limited, text(' you'), end('answered', 'Hi you')];

const waits = (events: readonly TurnEventBody[]) =>
  events.flatMap((event) => (event.case === 'waiting' ? [event.value.retryAfterMs] : []));

describe('a turn whose model provider asks for a long wait', () => {
  it('reports the wait after its text so far, and continues by itself', async () => {
    const { events, done } = await run([call], { turn: { journaled: true, canWait: true } });
    const names = events.map((event) => event.case).filter((name) => name === 'chunk' || name === 'waiting');
    expect(names.slice(0, 2)).toEqual(['chunk', 'waiting']);
    expect(waits(events)).toEqual([WAIT_MS]);
    expect(done.text).toBe('Hi you');
  });

  it('does not report it to an orchestrator that cannot continue the turn', async () => {
    const { events } = await run([call], { turn: { journaled: true } });
    expect(waits(events)).toEqual([]);
  });

  it('does not report it after the end of its journal, because the steps after that would be repeated', async () => {
    const large = { ...search, input: { query: 'x'.repeat(128 * 1024) } };
    const tools = searchTool(() => ({ text: 'found', failed: false }));
    const { events } = await run([request(large), call], { turn: { journaled: true, canWait: true }, tools });
    expect(events.some((event) => event.case === 'entry')).toBe(false);
    expect(waits(events)).toEqual([]);
  });
});

describe('a turn whose model server is loading the model', () => {
  it('is pending until the text begins', async () => {
    const loading = (_signal: AbortSignal, { onLoading }: StepOptions): Promise<void> => Promise.resolve(onLoading?.());
    const { events, done } = await run([[loading, text('Hi'), end('answered', 'Hi')]]);
    const activities = brief(events).filter((line) => line.startsWith('activity'));
    expect(activities).toEqual(['activity READING', 'activity THINKING', 'activity PENDING', 'activity WRITING']);
    expect(done.text).toBe('Hi');
  });
});
