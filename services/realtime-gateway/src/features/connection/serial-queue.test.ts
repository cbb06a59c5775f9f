import { describe, expect, it } from '@jest/globals';
import { createSerialQueue } from './serial-queue.js';

describe('the serial queue', () => {
  it('runs tasks one at a time and in order', async () => {
    const queue = createSerialQueue(10);
    const log: string[] = [];
    const task = (name: string) => async (): Promise<void> => {
      log.push(`${name} started`);
      await Promise.resolve();
      log.push(`${name} ended`);
    };
    queue.add(task('a'));
    queue.add(task('b'));
    await new Promise<void>((resolve) => queue.add(async () => resolve()));
    expect(log).toEqual(['a started', 'a ended', 'b started', 'b ended']);
  });

  it('rejects tasks above its limit, and accepts tasks again after one is done', async () => {
    const queue = createSerialQueue(2);
    const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
    const { promise: second, resolve: secondRan } = Promise.withResolvers<void>();
    const ran: string[] = [];
    expect(queue.add(() => gate)).toBe(true);
    expect(queue.add(async () => secondRan())).toBe(true);
    expect(queue.add(async () => void ran.push('refused'))).toBe(false);
    openGate();
    await second;
    await new Promise<void>((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => expect(queue.add(async () => resolve())).toBe(true));
    expect(ran).toEqual([]);
  });
});
