import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createModelContexts, fillOf, scaleOf } from './model-context.js';

const LARGE = 10_000;
const MINUTE = 60_000;

function setUp() {
  let now = 0;
  const contexts = createModelContexts(() => now);
  const accept = (reported: number | undefined, estimated = LARGE): void =>
    contexts.accepted('m', { estimated, reported, bytes: estimated * 4 });
  return {
    contexts,
    accept,
    pass: (ms: number): void => void (now += ms),
    scale: () => scaleOf(contexts.of('m')),
    fill: () => fillOf(contexts.of('m')),
  };
}

describe('the scale of estimates', () => {
  it('is 1 before any report', () => {
    const { scale, fill } = setUp();
    expect({ scale: scale(), fill: fill() }).toEqual({ scale: 1, fill: 1 });
  });

  it('is the greatest ratio of the newest eight reports', () => {
    const { accept, scale } = setUp();
    for (const reported of [15_000, 12_000]) accept(reported);
    expect(scale()).toBe(1.5);
    for (let call = 0; call < 7; call += 1) accept(11_000);
    expect(scale()).toBe(1.2);
  });

  it('is never below 1, except inside of a window that the server has stated', () => {
    const { accept, scale, fill } = setUp();
    accept(7_000);
    expect({ scale: scale(), fill: fill() }).toEqual({ scale: 1, fill: 0.7 });
  });

  it('ignores small prompts, in which the text of the provider outweighs the own one, and calls without a report', () => {
    const { accept, scale } = setUp();
    accept(700, 200);
    accept(undefined);
    expect(scale()).toBe(1);
  });

  it('is at most what the reports support, and at most 4', () => {
    const call = fc.record({ estimated: fc.integer({ min: 1_000, max: 500_000 }), reported: fc.nat(5_000_000) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 8 }), (calls) => {
        const { accept, scale } = setUp();
        for (const { estimated, reported } of calls) accept(reported, estimated);
        expect(scale()).toBe(Math.max(1, ...calls.map(({ estimated, reported }) => Math.min(4, reported / estimated))));
      }),
    );
  });
});

describe('the window of a model', () => {
  it('is the limit of the last refusal', () => {
    const { contexts } = setUp();
    contexts.refused('m', 8_192);
    contexts.refused('m', 4_096);
    expect({ one: contexts.window('m'), other: contexts.window('other') }).toEqual({ one: 4_096, other: undefined });
  });

  it('is not applied after eight accepted calls, so that a larger one is found', () => {
    const { contexts, accept } = setUp();
    contexts.refused('m', 4_096);
    for (let call = 0; call < 7; call += 1) accept(3_000);
    expect(contexts.window('m')).toBe(4_096);
    accept(3_000);
    expect(contexts.window('m')).toBeUndefined();
  });

  it('is not applied after five minutes', () => {
    const { contexts, pass } = setUp();
    contexts.refused('m', 4_096);
    pass(5 * MINUTE - 1);
    expect(contexts.window('m')).toBe(4_096);
    pass(1);
    expect(contexts.window('m')).toBeUndefined();
  });

  it('is tried again half as often each time that the server confirms it', () => {
    const { contexts, pass } = setUp();
    contexts.refused('m', 4_096);
    for (const minutes of [5, 10, 20, 40]) {
      pass(minutes * MINUTE - 1);
      expect(contexts.window('m')).toBe(4_096);
      pass(1);
      expect(contexts.window('m')).toBeUndefined();
      contexts.refused('m', 4_096);
    }
  });

  it('is listed with its model as long as it is applied', () => {
    const { contexts, pass } = setUp();
    contexts.refused('m', 4_096);
    expect(contexts.windows()).toEqual([{ model: 'm', tokens: 4_096 }]);
    pass(5 * MINUTE);
    expect(contexts.windows()).toEqual([]);
  });

  it('is forgotten when the server accepts more', () => {
    const { contexts, accept } = setUp();
    contexts.refused('m', 4_096);
    accept(6_000);
    expect(contexts.of('m').window).toBeUndefined();
  });
});
