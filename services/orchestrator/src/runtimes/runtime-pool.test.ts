import { beforeEach, describe, expect, it } from '@jest/globals';
import { createRuntimePool, type RuntimePool } from './runtime-pool.js';

describe('a pool with two places', () => {
  let requested: string[];
  let pool: RuntimePool;
  beforeEach(() => {
    requested = [];
    pool = createRuntimePool({ places: 2, requestReconcile: (workspaceId) => void requested.push(workspaceId) });
  });

  const evicted = () => ['a', 'b', 'c', 'd'].filter(pool.isEvicted);
  const admit = (...workspaceIds: string[]) => workspaceIds.map(pool.admit);

  it('admits two runtimes and queues the others', () => {
    expect(admit('a', 'b', 'c', 'd')).toEqual([true, true, false, false]);
    expect(['a', 'b', 'c', 'd'].filter(pool.isQueued)).toEqual(['c', 'd']);
  });

  it('gives a place that becomes free to the runtime that has waited for longest', () => {
    admit('a', 'b', 'c', 'd');
    requested = [];
    pool.release('b');
    expect(requested).toEqual(['c']);
    expect(admit('c', 'd', 'b')).toEqual([true, false, false]);
  });

  it('evicts the runtime whose work ended first', () => {
    admit('a', 'b');
    const endA = pool.use('a');
    pool.use('b')();
    endA();
    pool.admit('c');
    expect(evicted()).toEqual(['b']);
  });

  it('evicts none while both are in use, and the first whose work ends', () => {
    admit('a', 'b');
    const [endFirst, endSecond] = [pool.use('a'), pool.use('a')];
    pool.use('b');
    pool.admit('c');
    endFirst();
    endFirst();
    expect(evicted()).toEqual([]);
    endSecond();
    expect(evicted()).toEqual(['a']);
  });

  it('evicts another runtime if work begins before the first is suspended', () => {
    admit('a', 'b', 'c');
    expect(evicted()).toEqual(['a']);
    pool.use('a');
    expect(evicted()).toEqual(['b']);
  });

  it('evicts another runtime if the first is kept, and the first one after its work', () => {
    admit('a', 'b', 'c');
    pool.keep('a');
    pool.keep('b');
    expect(evicted()).toEqual([]);
    pool.use('a')();
    expect(evicted()).toEqual(['a']);
  });

  it('evicts a kept runtime when the reconciler asks, and does not request a reconcile for that', () => {
    admit('a', 'b', 'c');
    pool.keep('a');
    pool.keep('b');
    requested = [];
    expect(pool.mustYield('b')).toBe(true);
    expect(requested).toEqual([]);
  });

  it('spares the runtime that was active last if a start no longer waits', () => {
    admit('a', 'b', 'c', 'd');
    expect(evicted()).toEqual(['a', 'b']);
    pool.release('d');
    expect(evicted()).toEqual(['a']);
    pool.release('c');
    expect(evicted()).toEqual([]);
  });

  it('puts a runtime whose start failed behind the others', () => {
    admit('a', 'b', 'c');
    pool.requeue('a');
    expect(admit('a', 'c')).toEqual([false, true]);
  });

  it('gives a failed start another attempt if no other start waits', () => {
    admit('a', 'b');
    pool.requeue('a');
    expect(pool.admit('a')).toBe(true);
  });

  it('evicts runtimes that ran before if there are too many', () => {
    for (const workspaceId of ['a', 'b', 'c']) pool.adopt(workspaceId);
    expect(evicted()).toEqual(['a']);
  });
});

it('a pool without a limit admits all runtimes and evicts none', () => {
  const pool = createRuntimePool({
    places: 0,
    requestReconcile: () => {
      throw new Error('requested');
    },
  });
  const all = Array.from({ length: 100 }, (_, index) => String(index));
  expect(all.filter((workspaceId) => pool.admit(workspaceId) && !pool.mustYield(workspaceId))).toEqual(all);
});
