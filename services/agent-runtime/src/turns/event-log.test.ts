import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createEventLog, type EventLog } from './event-log.js';

interface Reader {
  from: number;
  seen: number[];
  /** How the iteration ended. */
  end: 'open' | 'done' | 'failed';
  hangUp: AbortController;
  hungUp: boolean;
  iteration: Promise<void>;
}

function attach(log: EventLog<number>, from: number): Reader {
  const hangUp = new AbortController();
  const reader: Reader = { from, seen: [], end: 'open', hangUp, hungUp: false, iteration: Promise.resolve() };
  reader.iteration = (async () => {
    try {
      for await (const event of log.read(from, hangUp.signal)) reader.seen.push(event);
      reader.end = 'done';
    } catch {
      reader.end = 'failed';
    }
  })();
  return reader;
}

/** An operation on the log; `at` selects a reader or a position modulo their number. */
const command = fc.oneof(
  { weight: 5, arbitrary: fc.constant({ type: 'append' as const, at: 0 }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('attach' as const), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('detach' as const), at: fc.nat() }) },
  { weight: 2, arbitrary: fc.constant({ type: 'settle' as const, at: 0 }) },
  { weight: 1, arbitrary: fc.constant({ type: 'finish' as const, at: 0 }) },
);

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i + 1);

/** Delivers the existing events without waiting for the end. */
async function everybodyCaughtUp(log: EventLog<number>, readers: readonly Reader[]): Promise<void> {
  await tick();
  const following = readers.filter(({ hungUp }) => !hungUp);
  expect(following.map(({ from, seen }) => from + seen.length)).toEqual(following.map(() => log.length));
}

describe('an event log', () => {
  it('delivers the events after a position to each reader once and in order, and ends after the last', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), fc.boolean(), async (commands, fails) => {
        const log = createEventLog<number>();
        const readers: Reader[] = [];
        const finish = (): void => log.close(fails ? new Error('lost') : undefined);
        for (const { type, at } of commands) {
          if (type === 'append' && !log.closed) log.append(log.length + 1);
          if (type === 'attach') readers.push(attach(log, at % (log.length + 1)));
          if (type === 'finish') finish();
          if (type === 'settle') await everybodyCaughtUp(log, readers);
          const leaving = type === 'detach' ? readers[at % readers.length] : undefined;
          if (leaving !== undefined && leaving.end === 'open') {
            leaving.hungUp = true;
            leaving.hangUp.abort();
          }
        }
        finish();
        await Promise.all(readers.map(({ iteration }) => iteration));
        for (const { from, seen, end, hungUp } of readers) {
          const expected = range(from, log.length);
          expect(seen).toEqual(hungUp ? expected.slice(0, seen.length) : expected);
          const ends = fails ? ['failed'] : ['done'];
          // The log may have ended before the reader left.
          expect(hungUp ? [...ends, 'done'] : ends).toContain(end);
        }
      }),
    );
  });

  it('releases a reader that leaves while it waits', async () => {
    const log = createEventLog<number>();
    const reader = attach(log, 0);
    await tick();
    reader.hangUp.abort();
    await reader.iteration;
    expect(reader.end).toBe('done');
  });

  it('rejects events after it is closed', () => {
    const log = createEventLog<number>();
    log.close();
    expect(() => log.append(1)).toThrow('the log is closed');
  });
});
