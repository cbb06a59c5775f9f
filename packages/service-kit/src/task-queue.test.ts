import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTaskQueue, QueueFull, type TaskQueue } from './task-queue.js';

/** Tasks have started when it resolves. */
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Tasks that run until they are ended by name. */
function harness(queue: TaskQueue) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const settled = new Map<string, Promise<unknown>>();
  return {
    started,
    add(key: string, name: string, signal?: AbortSignal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      const task = (): Promise<void> => {
        started.push(name);
        return promise;
      };
      const result = queue.run(task, { key, signal }).then(
        () => 'done',
        (error: Error) => error,
      );
      settled.set(name, result);
      return result;
    },
    async end(name: string) {
      ends.get(name)!();
      await settled.get(name);
      await nextTick();
    },
  };
}

const names = (key: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${key}${index}`);

describe('a task queue', () => {
  it('runs at most as many tasks as allowed, in their order', async () => {
    const { add, end, started } = harness(createTaskQueue({ concurrent: 2 }));
    for (const name of names('a', 4)) void add('a', name);
    await nextTick();
    expect(started).toEqual(['a0', 'a1']);
    await end('a1');
    expect(started).toEqual(['a0', 'a1', 'a2']);
    await end('a0');
    expect(started).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  it('delays a key by the one task that runs, however many tasks another key has', async () => {
    const { add, end, started } = harness(createTaskQueue({ concurrent: 1 }));
    for (const name of names('large', 50)) void add('large', name);
    void add('small', 'small0');
    await end('large0');
    expect(started).toEqual(['large0', 'small0']);
  });

  it('lets keys take turns, also those that come back', async () => {
    const { add, end, started } = harness(createTaskQueue({ concurrent: 1 }));
    for (const name of names('a', 3)) void add('a', name);
    void add('b', 'b0');
    await end('a0');
    void add('c', 'c0');
    await end('b0');
    void add('b', 'b1');
    await end('a1');
    await end('c0');
    await end('b1');
    expect(started).toEqual(['a0', 'b0', 'a1', 'c0', 'b1', 'a2']);
  });

  it('prefers a key of which nothing runs', async () => {
    const { add, end, started } = harness(createTaskQueue({ concurrent: 2 }));
    void add('a', 'a0');
    void add('b', 'b0');
    void add('a', 'a1');
    void add('c', 'c0');
    await end('b0');
    expect(started).toEqual(['a0', 'b0', 'c0']);
  });

  it('rejects a task when too many wait', async () => {
    const { add } = harness(createTaskQueue({ concurrent: 1, maxWaiting: 1 }));
    void add('a', 'a0');
    void add('a', 'a1');
    expect(await add('a', 'a2')).toBeInstanceOf(QueueFull);
    expect(await add('b', 'b0')).toBeInstanceOf(QueueFull);
  });

  it('makes room for another key when one key has filled it', async () => {
    const { add, end, started } = harness(createTaskQueue({ concurrent: 1, maxWaiting: 4 }));
    const all = names('a', 5).map((name) => add('a', name));
    void add('b', 'b0');
    expect(await all[4]).toBeInstanceOf(QueueFull);
    await end('a0');
    expect(started).toEqual(['a0', 'b0']);
  });

  it('immediately releases a waiting caller when its signal aborts', async () => {
    const queue = createTaskQueue({ concurrent: 1 });
    const { add, end, started } = harness(queue);
    const aborting = new AbortController();
    void add('a', 'a0');
    const waiting = add('b', 'b0', aborting.signal);
    void add('c', 'c0');
    aborting.abort(new Error('stopped'));
    expect(await waiting).toEqual(new Error('stopped'));
    expect(queue.waiting()).toBe(1);
    await end('a0');
    expect(started).toEqual(['a0', 'c0']);
    expect(await add('b', 'b1', aborting.signal)).toEqual(new Error('stopped'));
  });

  it('leaves no listener on the signal of a task that runs', async () => {
    const queue = createTaskQueue({ concurrent: 1 });
    const { signal } = new AbortController();
    const giveBack = await queue.take();
    const waiting = queue.take({ signal });
    giveBack();
    await waiting;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('gives a place back once, also if it is given back twice', async () => {
    const queue = createTaskQueue({ concurrent: 1 });
    const giveBack = await queue.take();
    giveBack();
    giveBack();
    await queue.take();
    void queue.take();
    expect(queue.waiting()).toBe(1);
  });

  it('never exceeds its limits, and settles every task', async () => {
    const task = fc.record({ key: fc.nat(3), fails: fc.boolean(), aborts: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(task, { maxLength: 30 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(8),
        async (all, concurrent, maxWaiting) => {
          const queue = createTaskQueue({ concurrent, maxWaiting });
          let running = 0;
          let most = 0;
          const results = await Promise.allSettled(
            all.map(({ key, fails, aborts }) => {
              const aborting = new AbortController();
              const run = async (): Promise<void> => {
                most = Math.max(most, (running += 1));
                await nextTick();
                running -= 1;
                if (fails) throw new Error('failed');
              };
              const result = queue.run(run, { key, signal: aborting.signal });
              expect(queue.waiting()).toBeLessThanOrEqual(maxWaiting);
              if (aborts) aborting.abort(new Error('aborted'));
              return result;
            }),
          );
          expect({ running, waiting: queue.waiting() }).toEqual({ running: 0, waiting: 0 });
          expect(most).toBeLessThanOrEqual(concurrent);
          const unaffected = results.filter((_, index) => !all[index]!.fails && !all[index]!.aborts);
          const failures = unaffected.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
          expect(failures.filter((error) => !(error instanceof QueueFull))).toEqual([]);
        },
      ),
    );
  });
});
