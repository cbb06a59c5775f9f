import { describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import fc from 'fast-check';
import { agentTool, messageNew } from '../../../test/envelopes.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import { createSequencer } from './sequencer.js';

const GAP_MS = 200;

function setUp({ bufferLimit = 1_000 } = {}) {
  const delivered: BusEnvelope[] = [];
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

/** Numbers for durable envelopes, the tool's name for ephemeral ones. */
const shown = (envelopes: readonly BusEnvelope[]): unknown[] =>
  envelopes.map((envelope) =>
    envelope.kind === 'durable' ? envelope.seq : envelope.event === 'agent.tool' && envelope.payload.tool,
  );
const durableSeqs = (envelopes: readonly BusEnvelope[]): number[] =>
  envelopes.flatMap((envelope) => (envelope.kind === 'durable' ? [envelope.seq] : []));

describe('the sequencer', () => {
  it('delivers durable envelopes once and in order, however they come', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5 }),
        fc.integer({ min: 1, max: 20 }).chain((last) => {
          const all = Array.from({ length: last }, (_, index) => index + 1);
          return fc
            .tuple(fc.constant(all), fc.array(fc.constantFrom(...all)))
            .chain(([once, again]) =>
              fc.shuffledSubarray([...once, ...again], { minLength: once.length + again.length }),
            );
        }),
        fc.array(fc.integer({ min: 0, max: 20 })),
        (lastSeq, order, after) => {
          const { delivered, gaps, sequencer } = setUp();
          sequencer.start(lastSeq);
          const ephemeral = after.map((seq, index) => agentTool(seq, `tool-${index}`));
          order.forEach((seq, index) => {
            const between = ephemeral[index];
            if (between !== undefined) sequencer.push(between);
            sequencer.push(messageNew(seq));
          });
          const highest = Math.max(...order);
          const expected = Array.from({ length: highest }, (_, index) => index + 1).filter((seq) => seq > lastSeq);
          expect(durableSeqs(delivered)).toEqual(expected);
          expect(gaps).toEqual([]);

          // Each ephemeral one that is due came once, and never before its durable one.
          const pushed = ephemeral.slice(0, order.length);
          const due = pushed.filter(
            (envelope) => envelope.kind === 'ephemeral' && envelope.after_seq <= Math.max(highest, lastSeq),
          );
          const came = delivered.filter(({ kind }) => kind === 'ephemeral');
          expect(new Set(came)).toEqual(new Set(due));
          expect(came).toHaveLength(due.length);
        },
      ),
    );
  });

  type Step = { push: BusEnvelope } | 'hold' | 'release' | 'wait';
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 30 }).map((seq) => ({ push: messageNew(seq) })) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 30 }).map((seq) => ({ push: agentTool(seq) })) },
    { weight: 1, arbitrary: fc.constantFrom<Step>('hold', 'release', 'wait') },
  );

  it('never goes back, never repeats, and lets no ephemeral envelope overtake, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 8 }), (steps, bufferLimit) => {
        const { delivered, timers, sequencer } = setUp({ bufferLimit });
        const releases: (() => void)[] = [];
        sequencer.start(2);
        for (const current of steps) {
          if (current === 'hold') releases.push(sequencer.hold());
          else if (current === 'release') releases.pop()?.();
          else if (current === 'wait') timers.advance(GAP_MS);
          else sequencer.push(current.push);
        }
        const seqs = durableSeqs(delivered);
        expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
        for (const seq of seqs) expect(seq).toBeGreaterThan(2);
        // Before a durable envelope everything up to the one below was delivered or given up, no more.
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

  it('delivers every durable envelope in the end when seqs are missing', () => {
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

  it('keeps what comes before the start, and drops what the start already counts', () => {
    const { delivered, sequencer } = setUp();
    for (const seq of [3, 5, 4]) sequencer.push(messageNew(seq));
    sequencer.push(agentTool(5, 'after five'));
    expect(delivered).toEqual([]);
    sequencer.start(3);
    expect(shown(delivered)).toEqual([4, 5, 'after five']);
  });

  it('delivers an ephemeral envelope between the durable ones that it belongs between', () => {
    const { delivered, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    sequencer.push(agentTool(1, 'after one'));
    sequencer.push(agentTool(0, 'after nothing'));
    sequencer.push(messageNew(1));
    expect(shown(delivered)).toEqual(['after nothing', 1, 'after one', 2]);
  });

  it('gives a gap up after the time, counts it, and ignores what comes too late', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(4));
    timers.advance(GAP_MS - 1);
    expect(delivered).toEqual([]);
    timers.advance(1);
    sequencer.push(messageNew(2));
    sequencer.push(messageNew(5));
    expect(shown(delivered)).toEqual([4, 5]);
    expect(gaps).toEqual([[1, 3]]);
  });

  it('waits for each gap on its own', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    sequencer.push(messageNew(4));
    timers.advance(GAP_MS);
    expect(shown(delivered)).toEqual([2]);
    timers.advance(GAP_MS);
    expect(shown(delivered)).toEqual([2, 4]);
    expect(gaps).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });

  it('holds durable envelopes, not ephemeral ones that are due, until the last release', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    const [first, second] = [sequencer.hold(), sequencer.hold()];
    sequencer.push(messageNew(1));
    sequencer.push(agentTool(1, 'after one'));
    sequencer.push(agentTool(0, 'due'));
    timers.advance(GAP_MS * 10);
    first();
    first();
    expect(shown(delivered)).toEqual(['due']);
    second();
    expect(shown(delivered)).toEqual(['due', 1, 'after one']);
    expect(gaps).toEqual([]);
  });

  it('does not take a gap for closed because a hold hid it', () => {
    const { delivered, gaps, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    const release = sequencer.hold();
    timers.advance(GAP_MS);
    release();
    expect(delivered).toEqual([]);
    timers.advance(GAP_MS);
    expect(shown(delivered)).toEqual([2]);
    expect(gaps).toEqual([[1, 1]]);
  });

  it('drops the oldest ephemeral envelopes first when too many wait', () => {
    const { delivered, dropped, sequencer } = setUp({ bufferLimit: 3 });
    sequencer.start(0);
    sequencer.push(agentTool(1, 'a'));
    sequencer.push(messageNew(2));
    sequencer.push(agentTool(1, 'b'));
    sequencer.push(agentTool(1, 'c'));
    sequencer.push(messageNew(3));
    sequencer.push(messageNew(1));
    expect(shown(delivered)).toEqual([1, 'c', 2, 3]);
    expect(dropped).toEqual(['ephemeral', 'ephemeral']);
  });

  it('gives up a gap or a hold before it loses a durable envelope', () => {
    const { delivered, gaps, sequencer } = setUp({ bufferLimit: 2 });
    sequencer.start(0);
    for (const seq of [2, 3, 4]) sequencer.push(messageNew(seq));
    expect(shown(delivered)).toEqual([2, 3, 4]);
    expect(gaps).toEqual([[1, 1]]);
    sequencer.hold();
    for (const seq of [5, 6, 7]) sequencer.push(messageNew(seq));
    expect(shown(delivered)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(gaps).toHaveLength(1);
  });

  it('stays within its bound before the start, where only the lowest seqs can be known already', () => {
    const { delivered, dropped, sequencer } = setUp({ bufferLimit: 2 });
    for (const seq of [1, 2, 3]) sequencer.push(messageNew(seq));
    sequencer.start(1);
    expect(shown(delivered)).toEqual([2, 3]);
    expect(dropped).toEqual(['durable']);
  });

  it('delivers nothing once closed and leaves no timer', () => {
    const { delivered, timers, sequencer } = setUp();
    sequencer.start(0);
    sequencer.push(messageNew(2));
    const release = sequencer.hold();
    sequencer.close();
    sequencer.push(messageNew(1));
    release();
    expect(timers.pending()).toBe(0);
    expect(delivered).toEqual([]);
  });
});
