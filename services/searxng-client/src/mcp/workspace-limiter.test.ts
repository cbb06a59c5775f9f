import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createWorkspaceLimiter } from './workspace-limiter.js';

const done = async () => 'done';

describe('createWorkspaceLimiter', () => {
  it('allows a burst of one minute of searches, then one search per interval', async () => {
    let now = 0;
    const limiter = createWorkspaceLimiter({ perMinute: 2, concurrent: 9 }, () => now);
    await limiter.run('w', done);
    await limiter.run('w', done);
    await expect(limiter.run('w', done)).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'web_search_tool: too many searches and pages from this workspace; try again in 30 s',
    });
    now = 30_000;
    await expect(limiter.run('w', done)).resolves.toBe('done');
    await expect(limiter.run('w', done)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('runs searches above the limit after the running ones, in their order', async () => {
    const limiter = createWorkspaceLimiter({ perMinute: 99, concurrent: 1 }, () => 0);
    const running = Promise.withResolvers<string>();
    const order: string[] = [];
    const first = limiter.run('w', () => running.promise);
    const others = ['a', 'b'].map((name) => limiter.run('w', async () => order.push(name)));
    await limiter.run('other', async () => order.push('other'));
    running.reject(new Error('failed'));
    await expect(first).rejects.toThrow('failed');
    await Promise.all(others);
    expect(order).toEqual(['other', 'a', 'b']);
  });

  it('rejects searches above 16 waiting ones', async () => {
    const limiter = createWorkspaceLimiter({ perMinute: 99, concurrent: 1 }, () => 0);
    const running = Promise.withResolvers<string>();
    const accepted = Array.from({ length: 17 }, () => limiter.run('w', () => running.promise));
    await expect(limiter.run('w', done)).rejects.toMatchObject({ code: 'rate_limited' });
    running.resolve('done');
    expect(await Promise.all(accepted)).toHaveLength(17);
    await expect(limiter.run('w', done)).resolves.toBe('done');
  });

  it('forgets a waiting search that is aborted, which counts as cancelled and not as a fault', async () => {
    const limiter = createWorkspaceLimiter({ perMinute: 99, concurrent: 1 }, () => 0);
    const running = Promise.withResolvers<string>();
    const first = limiter.run('w', () => running.promise);
    const controller = new AbortController();
    const waiting = limiter.run('w', () => Promise.reject(new Error('it ran')), controller.signal);
    controller.abort(new Error('stopped'));
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    const late = limiter.run('w', done, controller.signal);
    await expect(late).rejects.toMatchObject({ code: 'cancelled' });
    running.resolve('done');
    await first;
    await expect(limiter.run('w', done)).resolves.toBe('done');
  });

  it('never allows more searches than the burst and the elapsed time', async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 10 }), async (waits, perMinute) => {
        let now = 0;
        let passed = 0;
        const limiter = createWorkspaceLimiter({ perMinute, concurrent: 1 }, () => now);
        for (const wait of waits) {
          now += wait;
          await limiter.run('w', done).then(
            () => (passed += 1),
            () => undefined,
          );
        }
        expect(passed).toBeLessThanOrEqual(perMinute + (now / 60_000) * perMinute);
      }),
    );
  });
});
