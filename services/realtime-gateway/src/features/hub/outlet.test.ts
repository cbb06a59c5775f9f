import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createManualTimers } from '../../../test/manual-timers.js';
import { encodeFrame, type Frame } from './frame.js';
import { Outlet, type Source } from './outlet.js';

const OPTIONS = { unflushedBytes: 1_000, stallMs: 30_000 };

/** A connection whose client reads when the test calls `read`. */
function setUp() {
  const timers = createManualTimers();
  const sent: string[] = [];
  const stalls: number[] = [];
  let unflushed = 0;
  let most = 0;
  let waiting: (() => void)[] = [];
  const outlet = new Outlet({
    connection: {
      write(text, flushed) {
        sent.push(text);
        unflushed += text.length;
        most = Math.max(most, unflushed);
        if (flushed !== undefined) waiting.push(flushed);
      },
      unflushedBytes: () => unflushed,
    },
    options: OPTIONS,
    timers,
    stalled: () => stalls.push(sent.length),
  });
  return {
    outlet,
    sent,
    stalls,
    timers,
    mostUnflushed: () => most,
    /** The client reads `bytes`. */
    read(bytes: number, callBack = true) {
      unflushed = Math.max(0, unflushed - bytes);
      if (unflushed > 0 || !callBack) return;
      const called = waiting;
      waiting = [];
      for (const flushed of called) flushed();
    },
  };
}

/** A source of `count` frames. */
function sourceOf(name: string, count: number, length = 0): Source & { left: () => number } {
  let left = count;
  const frame = (): Frame => encodeFrame(name, { left, text: 'x'.repeat(length) });
  return { left: () => left, next: () => (left === 0 ? undefined : (left--, frame())) };
}
const names = (sent: readonly string[]): unknown[] => sent.map((text) => (JSON.parse(text.slice(5)) as unknown[])[0]);

describe('the outlet of a socket', () => {
  it('I10: leaves at most the limit and one event unflushed, and sends everything to a client that reads', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        sizes,
        fc.nat(400),
        fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 50 }),
        (counts, length, reads) => {
          const { outlet, sent, read, mostUnflushed } = setUp();
          const sources = counts.map((count, index) => sourceOf(`s${index}`, count, length));
          for (const source of sources) outlet.wake(source);
          for (const bytes of reads) read(bytes);
          while (sources.some(({ left }) => left() > 0)) read(10_000);
          expect(mostUnflushed()).toBeLessThan(OPTIONS.unflushedBytes + length + 60);
          expect(sent.length).toBe(counts.reduce((sum, count) => sum + count, 0));
        },
      ),
    );
  });

  it('sends the events of its sources in turn', () => {
    const { outlet, sent, read } = setUp();
    const full = sourceOf('full', 1, OPTIONS.unflushedBytes);
    outlet.wake(full);
    const [a, b] = [sourceOf('a', 3), sourceOf('b', 2)];
    for (const source of [a, b]) outlet.wake(source);
    expect(names(sent)).toEqual(['full']);
    read(10_000);
    expect(names(sent)).toEqual(['full', 'a', 'b', 'a', 'b', 'a']);
  });

  it('reports a client without progress, once its time is over', () => {
    const { outlet, stalls, timers, read } = setUp();
    outlet.wake(sourceOf('a', 10, OPTIONS.unflushedBytes));
    timers.advance(OPTIONS.stallMs - 1_000);
    read(10);
    timers.advance(OPTIONS.stallMs - 1_000);
    expect(stalls).toEqual([]);
    timers.advance(2_000);
    expect(stalls).toEqual([1]);
  });

  it('continues if the connection does not call back', () => {
    const { outlet, sent, timers, read } = setUp();
    outlet.wake(sourceOf('a', 2, OPTIONS.unflushedBytes));
    expect(sent.length).toBe(1);
    read(10_000, false);
    timers.advance(1_000);
    expect(sent.length).toBe(2);
  });

  it('sends nothing of a removed source, and nothing after it is closed', () => {
    const { outlet, sent, timers, read } = setUp();
    const [full, removed] = [sourceOf('full', 1, OPTIONS.unflushedBytes), sourceOf('removed', 1)];
    for (const source of [full, removed]) outlet.wake(source);
    outlet.remove(removed);
    read(10_000);
    outlet.close();
    outlet.wake(sourceOf('late', 1));
    expect(names(sent)).toEqual(['full']);
    expect(timers.pending()).toBe(0);
  });
});
