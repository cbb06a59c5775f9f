import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventLog, type LogEntry } from './event-log.js';
import { encodeFrame } from './frame.js';

const LIMITS = { ringEvents: 8, ringBytes: 4_000 };
const entry = (seq: number, text = ''): LogEntry => ({ seq, frame: encodeFrame('message.new', { seq, text }) });
const seqs = (entries: readonly LogEntry[]): number[] => entries.map(({ seq }) => seq);
const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);

describe('the event log of a hub', () => {
  it('puts reordered and duplicate events in order, each once', () => {
    const order = fc.integer({ min: 1, max: 8 }).chain((last) => {
      const all = range(1, last);
      return fc
        .array(fc.constantFrom(...all))
        .chain((again) => fc.shuffledSubarray([...all, ...again], { minLength: last + again.length }));
    });
    fc.assert(
      fc.property(order, fc.nat(4), (arrivals, position) => {
        const log = new EventLog(LIMITS);
        const before = arrivals.slice(0, 3).flatMap((seq) => log.add(entry(seq)));
        const started = log.start(position).filter(({ seq }) => seq > position);
        const inOrder = [...before, ...started, ...arrivals.slice(3).flatMap((seq) => log.add(entry(seq)))];
        expect(seqs(inOrder)).toEqual(range(position + 1, Math.max(...arrivals)));
        expect(log.behind).toBe(false);
      }),
    );
  });

  it('returns the events up to the position at which it starts, because they can still end a text', () => {
    const log = new EventLog(LIMITS);
    for (const seq of [1, 3, 4, 9]) log.add(entry(seq));
    expect(seqs(log.start(3))).toEqual([1, 3, 4]);
    expect({ position: log.position, first: log.entry(3), behind: log.behind }).toEqual({
      position: 4,
      first: undefined,
      behind: true,
    });
  });

  it('I5 never advances over a missing event, for any arrivals', () => {
    const step = fc.oneof(
      fc.integer({ min: 1, max: 40 }).map((seq) => ({ add: seq })),
      fc.integer({ min: 1, max: 40 }).map((seq) => ({ note: seq })),
      fc.constant('drop' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const log = new EventLog(LIMITS);
        log.start(0);
        const received: number[] = [];
        let known = 0;
        for (const current of steps) {
          if (current === 'drop') log.dropRing();
          else if ('note' in current) log.note(current.note);
          else received.push(...seqs(log.add(entry(current.add))));
          if (current !== 'drop') known = Math.max(known, 'note' in current ? current.note : current.add);
          expect(received).toEqual(range(1, log.position ?? 0));
          expect(log.behind).toBe(known > (log.position ?? 0));
        }
      }),
    );
  });

  it('keeps the last events within the limits of number and bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_500), { maxLength: 40 }), (lengths) => {
        const log = new EventLog(LIMITS);
        log.start(0);
        lengths.forEach((length, index) => log.add(entry(index + 1, 'x'.repeat(length))));
        expect(log.bytes).toBeLessThanOrEqual(LIMITS.ringBytes);
        const kept = range(1, lengths.length).filter((seq) => log.entry(seq) !== undefined);
        expect(kept.length).toBeLessThanOrEqual(LIMITS.ringEvents);
        expect(kept).toEqual(range(lengths.length - kept.length + 1, lengths.length));
        for (const seq of kept) expect(log.entry(seq)?.seq).toBe(seq);
      }),
    );
  });

  it('keeps a limited number of events after a missing one', () => {
    const log = new EventLog(LIMITS);
    log.start(0);
    for (const seq of range(2, 100)) log.add(entry(seq, 'x'.repeat(100)));
    expect(log.bytes).toBeLessThan(2 * LIMITS.ringBytes);
    expect(seqs(log.add(entry(1)))).toEqual(range(1, 9));
    expect(log.behind).toBe(true);
  });

  it('forgets a sequence that the log does not have', () => {
    const log = new EventLog(LIMITS);
    log.start(3);
    log.note(1_000_000);
    log.add(entry(9));
    const { known } = log;
    log.confirmHead(4, known);
    expect(log.behind).toBe(true);
    log.add(entry(4));
    expect(log.behind).toBe(false);
    expect(seqs(log.add(entry(5)))).toEqual([5]);
  });

  it('does not forget a sequence that arrived after the log was asked', () => {
    const log = new EventLog(LIMITS);
    log.start(3);
    const { known } = log;
    log.add(entry(6));
    log.confirmHead(3, known);
    expect(log.behind).toBe(true);
  });

  it('continues after a reset as a new log', () => {
    const log = new EventLog(LIMITS);
    log.start(0);
    for (const seq of [1, 2, 5]) log.add(entry(seq));
    log.reset(1);
    expect({ position: log.position, behind: log.behind, bytes: log.bytes }).toEqual({
      position: 1,
      behind: false,
      bytes: 0,
    });
    expect(seqs(log.add(entry(2)))).toEqual([2]);
  });
});
