import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { createWorkQueue, type WorkQueue } from './work-queue.js';

const BACKOFF = { initialMs: 100, maxMs: 1_000 };
const create = (): WorkQueue => createWorkQueue({ backoff: BACKOFF, now: () => Date.now(), random: () => 1 });

/** A simple reference implementation. */
interface Model {
  waiting: string[];
  active: Set<string>;
  again: Set<string>;
  due: Map<string, number>;
  failures: Map<string, number>;
  now: number;
}

interface Real {
  queue: WorkQueue;
  takers: { key: string | undefined; settled: boolean }[];
}

const add = (model: Model, key: string): void => {
  if (model.active.has(key)) model.again.add(key);
  else if (!model.waiting.includes(key)) model.waiting.push(key);
};
const addAfter = (model: Model, key: string, ms: number): void => {
  const due = model.now + ms;
  model.due.set(key, Math.min(due, model.due.get(key) ?? due));
};

type Command = fc.AsyncCommand<Model, Real>;
const always = (): boolean => true;

const commands = (key: string, ms: number): Record<string, Command> => ({
  add: {
    check: always,
    run: async (model, { queue }) => {
      queue.add(key);
      add(model, key);
    },
    toString: () => `add(${key})`,
  },
  addAfter: {
    check: always,
    run: async (model, { queue }) => {
      queue.addAfter(key, ms);
      addAfter(model, key, ms);
    },
    toString: () => `addAfter(${key}, ${ms})`,
  },
  retry: {
    check: always,
    run: async (model, { queue }) => {
      queue.retry(key);
      const failures = model.failures.get(key) ?? 0;
      model.failures.set(key, failures + 1);
      addAfter(model, key, Math.min(BACKOFF.maxMs, BACKOFF.initialMs * 2 ** failures));
      expect(queue.retries(key)).toBe(failures + 1);
    },
    toString: () => `retry(${key})`,
  },
  forget: {
    check: always,
    run: async (model, { queue }) => {
      queue.forget(key);
      model.failures.delete(key);
    },
    toString: () => `forget(${key})`,
  },
  drop: {
    check: always,
    run: async (model, { queue }) => {
      queue.drop(key);
      model.failures.delete(key);
      model.due.delete(key);
      model.again.delete(key);
      model.waiting = model.waiting.filter((waiting) => waiting !== key);
    },
    toString: () => `drop(${key})`,
  },
  next: {
    check: ({ waiting }) => waiting.length > 0,
    run: async (model, { queue }) => {
      const taken = await queue.next();
      expect(taken).toBe(model.waiting.shift());
      model.active.add(taken ?? '');
    },
    toString: () => 'next()',
  },
  done: {
    check: ({ active }) => active.has(key),
    run: async (model, { queue }) => {
      queue.done(key);
      model.active.delete(key);
      if (model.again.delete(key)) add(model, key);
    },
    toString: () => `done(${key})`,
  },
  pass: {
    check: always,
    run: async (model) => {
      jest.advanceTimersByTime(ms);
      model.now += ms;
      const due = [...model.due].filter(([, at]) => at <= model.now).toSorted(([, a], [, b]) => a - b);
      for (const [late] of due) {
        model.due.delete(late);
        add(model, late);
      }
    },
    toString: () => `pass(${ms})`,
  },
});

const command = fc
  .record({
    name: fc.constantFrom('add', 'add', 'addAfter', 'retry', 'forget', 'drop', 'next', 'next', 'done', 'done', 'pass'),
    key: fc.constantFrom('a', 'b', 'c'),
    ms: fc.integer({ min: 1, max: 500 }),
  })
  .map(({ name, key, ms }) => commands(key, ms)[name]!);

describe('the work queue', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('hands out each key once at a time and in insertion order, for any sequence of operations', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands([command], { maxCommands: 60 }), async (all) => {
        const queue = create();
        const model = (): Model => ({
          waiting: [],
          active: new Set(),
          again: new Set(),
          due: new Map(),
          failures: new Map(),
          now: Date.now(),
        });
        await fc.asyncModelRun(() => ({ model: model(), real: { queue, takers: [] } }), [
          ...all,
          {
            check: always,
            run: async ({ waiting }: Model, real: Real) => expect(real.queue.depth()).toBe(waiting.length),
          },
        ] as Iterable<Command>);
        queue.close();
      }),
      { numRuns: 300 },
    );
  });

  it('hands a key to a waiting worker', async () => {
    const queue = create();
    const [first, second] = [queue.next(), queue.next()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
    expect(queue.depth()).toBe(0);
  });

  it('skips an aborted worker and hands the next key to another', async () => {
    const queue = create();
    const impatient = new AbortController();
    const [first, second] = [queue.next(impatient.signal), queue.next()];
    impatient.abort();
    expect(await first).toBeUndefined();
    queue.add('a');
    expect(await second).toBe('a');
  });

  it('is empty after clear and can be used again', async () => {
    const queue = create();
    for (const key of ['active', 'waiting']) queue.add(key);
    await queue.next();
    queue.add('active');
    queue.retry('delayed');
    queue.clear();
    queue.done('active');
    jest.advanceTimersByTime(1_000);
    expect({ depth: queue.depth(), retries: queue.retries('delayed') }).toEqual({ depth: 0, retries: 0 });
    queue.add('later');
    expect(await queue.next()).toBe('later');
  });

  it('hands out nothing after close', async () => {
    const queue = create();
    const waiting = queue.next();
    queue.addAfter('a', 10);
    queue.close();
    jest.advanceTimersByTime(20);
    queue.add('b');
    expect(await waiting).toBeUndefined();
    expect(await queue.next()).toBeUndefined();
  });

  it('supports delays longer than the longest timer of Node.js', async () => {
    const queue = create();
    const days30 = 30 * 24 * 3_600_000;
    queue.addAfter('a', days30);
    jest.advanceTimersByTime(days30 - 1);
    expect(queue.depth()).toBe(0);
    jest.advanceTimersByTime(1);
    expect(queue.depth()).toBe(1);
    queue.addAfter('b', days30);
    queue.addAfter('c', Infinity);
    jest.advanceTimersByTime(days30 - 1);
    queue.drop('b');
    jest.advanceTimersByTime(2);
    expect(queue.depth()).toBe(1);
    queue.close();
  });

  it('waits at least the given minimum before a retry', async () => {
    const queue = create();
    queue.retry('a', 5_000);
    jest.advanceTimersByTime(5_000 + BACKOFF.initialMs - 1);
    expect(queue.depth()).toBe(0);
    jest.advanceTimersByTime(1);
    expect(queue.depth()).toBe(1);
    queue.close();
  });
});
