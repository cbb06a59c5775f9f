import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { agentTool, messageNew, skipped } from '../../../test/envelopes.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import type { BusEnvelope } from '@uswarm/contract';
import { createSequencer, type EventEnvelope } from './sequencer.js';

const GAP_MS = 200;

function setUp({ bufferLimit = 1_000 } = {}) {
  const delivered: EventEnvelope[] = [];
  const gaps: [number, number][] = [];
  const dropped: string[] = [];
  const timers = createManualTimers();
  const sequencer = createSequencer({
    gapTimeoutMs: GAP_MS,
    bufferLimit,
    timers,
    deliver: (envelope) => delivered.push(envelope),
    onGap: (from, to) => gaps.push([from, to]),
    onDropped: (kind) => dropped.push(kind),
  });
  return { delivered, dropped, gaps, timers, sequencer };
}

/** The sequences of durable envelopes and the tool names of ephemeral ones. */
const summary = (envelopes: readonly EventEnvelope[]): unknown[] =>
  envelopes.map((envelope) =>
    envelope.kind === 'durable' ? envelope.seq : envelope.event === 'agent.tool' && envelope.payload['tool'],
  );
const durableSeqs = (envelopes: readonly EventEnvelope[]): number[] =>
  envelopes.flatMap((envelope) => (envelope.kind === 'durable' ? [envelope.seq] : []));

describe('the sequencer', () => {
  it('delivers reordered and duplicate durable envelopes once and in order', () => {
    const { delivered, sequencer } = setUp();
    sequencer.start(0);
    for (const seq of [3, 1, 3, 2, 1]) sequencer.push(messageNew(seq));
    expect(summary(delivered)).toEqual([1, 2, 3]);
  });

  it('counts a skipped event as delivered', () => {
    const { delivered, gaps, sequencer } = setUp();
    sequencer.start(0);
    for (const envelope of [messageNew(3), agentTool(2, 'after'), skipped(2), messageNew(1)]) sequencer.push(envelope);
    expect(summary(delivered)).toEqual([1, 'after', 3]);
    expect({ gaps, position: sequencer.position() }).toEqual({ gaps: [], position: 3 });
  });

  /** The sequences 1 to n, and some of them a second time, in any order. */
  const arrivals = fc.integer({ min: 1, max: 20 }).chain((last) => {
    const all = Array.from({ length: last }, (_, index) => index + 1);
    return fc
      .array(fc.constantFrom(...all))
      .chain((again) => fc.shuffledSubarray([...all, ...again], { minLength: last + again.length }));
  });

  const seqsAfter = (lastSeq: number, order: readonly number[]): number[] =>
    Array.from({ length: Math.max(...order) }, (_, index) => index + 1).filter((seq) => seq > lastSeq);

  it('delivers durable envelopes once and in order for any order of arrival', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 }), arrivals, (lastSeq, order) => {
        const { delivered, gaps, sequencer } = setUp();
        sequencer.start(lastSeq);
        for (const seq of order) sequencer.push(messageNew(seq));
        expect(durableSeqs(delivered)).toEqual(seqsAfter(lastSeq, order));
        expect(gaps).toEqual([]);
      }),
    );
  });

  it('delivers each due ephemeral envelope once for any order of arrival', () => {
    const afterSeqs = fc.array(fc.integer({ min: 0, max: 20 }));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 }), arrivals, afterSeqs, (lastSeq, order, after) => {
        const { delivered, sequencer } = setUp();
        sequencer.start(lastSeq);
        const ephemeral = after.slice(0, order.length).map((seq, index) => agentTool(seq, `tool-${index}`));
        order.forEach((seq, index) => {
          const between = ephemeral[index];
          if (between !== undefined) sequencer.push(between);
          sequencer.push(messageNew(seq));
        });
        const reached = Math.max(...order, lastSeq);
        const due = ephemeral.filter((envelope) => envelope.kind === 'ephemeral' && envelope.after_seq <= reached);
        const received = delivered.filter(({ kind }) => kind === 'ephemeral');
        expect(new Set(received)).toEqual(new Set(due));
        expect(received).toHaveLength(due.length);
        expect(durableSeqs(delivered)).toEqual(seqsAfter(lastSeq, order));
      }),
    );
  });

  type Step = { push: BusEnvelope } | 'buffer' | 'flush' | 'wait';
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 30 }).map((seq) => ({ push: messageNew(seq) })) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 30 }).map((seq) => ({ push: agentTool(seq) })) },
    { weight: 1, arbitrary: fc.constantFrom<Step>('buffer', 'flush', 'wait') },
  );

  it('never reorders or repeats durable envelopes, and delivers no ephemeral envelope early, for any sequence of operations', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 8 }), (steps, bufferLimit) => {
        const { delivered, timers, sequencer } = setUp({ bufferLimit });
        const flushes: (() => void)[] = [];
        sequencer.start(2);
        for (const current of steps) {
          if (current === 'buffer') flushes.push(sequencer.buffer());
          else if (current === 'flush') flushes.pop()?.();
          else if (current === 'wait') timers.advance(GAP_MS);
          else sequencer.push(current.push);
        }
        const seqs = durableSeqs(delivered);
        expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
        for (const seq of seqs) expect(seq).toBeGreaterThan(2);
        // Before a durable envelope, exactly the lower sequences were delivered or skipped.
        let reached = sequencer.position() ?? 0;
        const overtook = delivered.toReversed().filter((envelope) => {
          if (envelope.kind === 'ephemeral') return envelope.after_seq > reached;
          reached = envelope.seq - 1;
          return false;
        });
        expect(overtook).toEqual([]);
      }),
    );
  });

  it('eventually delivers every durable envelope if sequence numbers are missing', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (seqs) => {
        const { delivered, timers, sequencer } = setUp();
        sequencer.start(0);
        for (const seq of seqs) sequencer.push(messageNew(seq));
        timers.advance(GAP_MS * (seqs.length + 1));
        expect(durableSeqs(delivered)).toEqual(seqs.toSorted((a, b) => a - b));
        expect(timers.pending()).toBe(0);
      }),
    );
  });

  it('buffers envelopes that arrive before the start, and drops those that the start position includes', () => {
    const { delivered, sequencer } = setUp();
    for (const seq of [3, 5, 4]) sequencer.push(messageNew(seq));
    sequencer.push(agentTool(5, 'after five'));
    expect(delivered).toEqual([]);
    sequencer.start(3);
    expect(summary(delivered)).toEqual([4, 5, 'after five']);
  });

  it('delivers an ephemeral envelope after the durable envelope that it follows', () => {
    const { delivered, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    sequencer.push(agentTool(1, 'after one'));
    sequencer.push(agentTool(0, 'after nothing'));
    sequencer.push(messageNew(1));
    expect(summary(delivered)).toEqual(['after nothing', 1, 'after one', 2]);
  });

  it('skips a gap after the timeout, reports it, and ignores late envelopes', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(4));
    timers.advance(GAP_MS - 1);
    expect(delivered).toEqual([]);
    timers.advance(1);
    sequencer.push(messageNew(2));
    sequencer.push(messageNew(5));
    expect(summary(delivered)).toEqual([4, 5]);
    expect(gaps).toEqual([[1, 3]]);
  });

  it('applies the timeout to each gap separately', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    sequencer.push(messageNew(4));
    timers.advance(GAP_MS);
    expect(summary(delivered)).toEqual([2]);
    timers.advance(GAP_MS);
    expect(summary(delivered)).toEqual([2, 4]);
    expect(gaps).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });

  it('buffers durable envelopes until the last flush, and delivers due ephemeral ones immediately', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    const [first, second] = [sequencer.buffer(), sequencer.buffer()];
    sequencer.push(messageNew(1));
    sequencer.push(agentTool(1, 'after one'));
    sequencer.push(agentTool(0, 'due'));
    timers.advance(GAP_MS * 10);
    first();
    first();
    expect(summary(delivered)).toEqual(['due']);
    second();
    expect(summary(delivered)).toEqual(['due', 1, 'after one']);
    expect(gaps).toEqual([]);
  });

  it('still detects a gap that formed while it was buffering', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    const flush = sequencer.buffer();
    timers.advance(GAP_MS);
    flush();
    expect(delivered).toEqual([]);
    timers.advance(GAP_MS);
    expect(summary(delivered)).toEqual([2]);
    expect(gaps).toEqual([[1, 1]]);
  });

  it('drops the oldest ephemeral envelopes first when the buffer is full', () => {
    const { delivered, dropped, sequencer } = setUp({ bufferLimit: 3 });
    sequencer.start(0);
    sequencer.push(agentTool(1, 'a'));
    sequencer.push(messageNew(2));
    sequencer.push(agentTool(1, 'b'));
    sequencer.push(agentTool(1, 'c'));
    sequencer.push(messageNew(3));
    sequencer.push(messageNew(1));
    expect(summary(delivered)).toEqual([1, 'c', 2, 3]);
    expect(dropped).toEqual(['ephemeral', 'ephemeral']);
  });

  it('skips a gap or flushes rather than drop a durable envelope when the buffer is full', () => {
    const { delivered, gaps, sequencer } = setUp({ bufferLimit: 2 });
    sequencer.start(0);
    for (const seq of [2, 3, 4]) sequencer.push(messageNew(seq));
    expect(summary(delivered)).toEqual([2, 3, 4]);
    expect(gaps).toEqual([[1, 1]]);
    sequencer.buffer();
    for (const seq of [5, 6, 7]) sequencer.push(messageNew(seq));
    expect(summary(delivered)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(gaps).toHaveLength(1);
  });

  it('drops the lowest sequence numbers if the buffer is full before the start', () => {
    const { delivered, dropped, sequencer } = setUp({ bufferLimit: 2 });
    for (const seq of [1, 2, 3]) sequencer.push(messageNew(seq));
    sequencer.start(1);
    expect(summary(delivered)).toEqual([2, 3]);
    expect(dropped).toEqual(['durable']);
  });

  it('delivers nothing and has no timer after close', () => {
    const { delivered, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    const flush = sequencer.buffer();
    sequencer.close();
    sequencer.push(messageNew(1));
    flush();
    expect(timers.pending()).toBe(0);
    expect(delivered).toEqual([]);
  });
});
