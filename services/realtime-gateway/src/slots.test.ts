import { describe, expect, it } from '@jest/globals';
import { createSlots } from './slots.js';

const { signal: never } = new AbortController();

describe('slots', () => {
  it('runs a limited number of callers concurrently and queues the others in order', async () => {
    const slots = createSlots({ concurrent: 2, queued: 10 });
    const order: string[] = [];
    const first = await slots.take(never);
    const second = await slots.take(never);
    const third = slots.take(never).then((release) => (order.push('third'), release));
    const fourth = slots.take(never).then((release) => (order.push('fourth'), release));
    expect(slots.waiting()).toBe(2);
    first();
    (await third)();
    (await fourth)();
    expect(order).toEqual(['third', 'fourth']);
    second();
    expect(slots.waiting()).toBe(0);
  });

  it('releases one slot even if release is called twice', async () => {
    const slots = createSlots({ concurrent: 1, queued: 2 });
    const release = await slots.take(never);
    release();
    release();
    await slots.take(never);
    const waiting = slots.take(never);
    expect(slots.waiting()).toBe(1);
    waiting.catch(() => undefined);
  });

  it('rejects a caller with service_unavailable if the queue is full', async () => {
    const slots = createSlots({ concurrent: 1, queued: 0 });
    await slots.take(never);
    await expect(slots.take(never)).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('removes an aborted caller from the queue', async () => {
    const slots = createSlots({ concurrent: 1, queued: 1 });
    const release = await slots.take(never);
    const aborted = new AbortController();
    const waiting = slots.take(aborted.signal);
    aborted.abort(new Error('disconnected'));
    await expect(waiting).rejects.toThrow('disconnected');
    expect(slots.waiting()).toBe(0);
    release();
    await expect(slots.take(never)).resolves.toBeInstanceOf(Function);
  });
});
