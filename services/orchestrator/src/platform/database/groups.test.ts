import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createGroups } from './groups.js';

const LIMITS = { maxItems: 3, maxGroups: 2, patienceMs: 5 };

/** The test ends each group. */
function controlledGroups(limits = LIMITS) {
  const groups: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const add = createGroups<number, string>({
    ...limits,
    run: async (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      groups.push({ items, end: resolve, fail: reject });
      await promise;
      return items.map((item) => `result ${item}`);
    },
  });
  return { add, groups };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('createGroups', () => {
  it('handles a single item immediately, and the items that arrive meanwhile together', async () => {
    const { add, groups } = controlledGroups({ ...LIMITS, patienceMs: 60_000 });
    const results = Promise.all([1, 2, 3].map(add));
    expect(groups.map(({ items }) => items)).toEqual([[1]]);
    groups[0]?.end();
    await settled();
    expect(groups.map(({ items }) => items)).toEqual([[1], [2, 3]]);
    groups[1]?.end();
    expect(await results).toEqual(['result 1', 'result 2', 'result 3']);
  });

  it('starts a further group if the one before it hangs, up to the maximum number of groups', async () => {
    const { add, groups } = controlledGroups({ ...LIMITS, maxItems: 1 });
    const results = [1, 2, 3].map(add);
    while (groups.length < 2) await sleep(1);
    await sleep(4 * LIMITS.patienceMs);
    expect(groups.map(({ items }) => items)).toEqual([[1], [2]]);
    groups[1]?.end();
    expect(await results[1]).toBe('result 2');
    while (groups.length < 3) await sleep(1);
    for (const { end } of groups) end();
    expect(await Promise.all(results)).toEqual(['result 1', 'result 2', 'result 3']);
  });

  it('rejects only the items of a group that fails', async () => {
    const { add, groups } = controlledGroups();
    const [failing, later] = [add(1), add(2)];
    groups[0]?.fail(new Error('no'));
    await expect(failing).rejects.toThrow('no');
    await settled();
    groups[1]?.end();
    expect(await later).toBe('result 2');
  });

  it('gives each item its result, in groups that keep the order and the limits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(fc.nat(3), { maxLength: 30 }), async (scheduler, pauses) => {
        const groups: (readonly number[])[] = [];
        let running = 0;
        const add = createGroups<number, number>({
          maxItems: 3,
          maxGroups: 1,
          patienceMs: 60_000,
          async run(items) {
            running += 1;
            expect(running).toBe(1);
            groups.push(items);
            await scheduler.schedule(Promise.resolve());
            running -= 1;
            return items.map((item) => item * 10);
          },
        });
        const results: Promise<number>[] = [];
        for (const [item, pause] of pauses.entries()) {
          for (let n = 0; n < pause && scheduler.count() > 0; n += 1) await scheduler.waitOne();
          results.push(add(item));
        }
        await scheduler.waitFor(Promise.all(results));
        expect(await Promise.all(results)).toEqual(pauses.map((_, item) => item * 10));
        expect(groups.flat()).toEqual(pauses.map((_, item) => item));
        expect(Math.max(0, ...groups.map(({ length }) => length))).toBeLessThanOrEqual(3);
      }),
      { numRuns: 100 },
    );
  });
});
