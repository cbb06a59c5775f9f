import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createCallSlots } from './call-slots.js';

const NEVER = new AbortController().signal;

describe('call slots', () => {
  it('serve the owners in turn', async () => {
    const slots = createCallSlots(1);
    const [a, b] = [{}, {}];
    const order: string[] = [];
    const run = (owner: object, name: string) => slots.run(owner, NEVER, async () => void order.push(name));
    await Promise.all([run(a, 'a1'), run(a, 'a2'), run(a, 'a3'), run(b, 'b1'), run(b, 'b2')]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
  });

  it('forget a call that is aborted while it waits', async () => {
    const slots = createCallSlots(1);
    const owner = {};
    const running = Promise.withResolvers<void>();
    const first = slots.run(owner, NEVER, () => running.promise);
    const controller = new AbortController();
    const waiting = slots.run(owner, controller.signal, () => Promise.reject(new Error('it ran')));
    controller.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    running.resolve();
    await first;
    await expect(slots.run(owner, NEVER, async () => 'next')).resolves.toBe('next');
  });

  it('never run more calls than the limit, and run all that are not aborted', async () => {
    const calls = fc.array(fc.record({ owner: fc.nat(3), fails: fc.boolean(), aborts: fc.boolean() }), {
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(calls, fc.integer({ min: 1, max: 5 }), async (all, limit) => {
        const slots = createCallSlots(limit);
        const owners = [{}, {}, {}, {}];
        let running = 0;
        let most = 0;
        const results = await Promise.allSettled(
          all.map(({ owner, fails, aborts }) => {
            const controller = new AbortController();
            const result = slots.run(owners[owner]!, controller.signal, async () => {
              most = Math.max(most, (running += 1));
              await new Promise((resolve) => setImmediate(resolve));
              running -= 1;
              if (fails) throw new Error('failed');
            });
            if (aborts) controller.abort(new Error('aborted'));
            return result;
          }),
        );
        expect(most).toBeLessThanOrEqual(limit);
        expect(running).toBe(0);
        const unaffected = results.filter((_, index) => !all[index]!.fails && !all[index]!.aborts);
        expect(unaffected.filter(({ status }) => status === 'rejected')).toEqual([]);
      }),
    );
  });
});
