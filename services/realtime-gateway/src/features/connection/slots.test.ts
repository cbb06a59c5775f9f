import { describe, expect, it } from '@jest/globals';
import { createSlots } from './slots.js';

const { signal: never } = new AbortController();

describe('slots', () => {
  it('lets a limited number run concurrently and the others in the order they came', async () => {
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

  it('frees one slot only, however often it is given back', async () => {
    const slots = createSlots({ concurrent: 1, queued: 2 });
    const release = await slots.take(never);
    release();
    release();
    await slots.take(never);
    const waiting = slots.take(never);
    expect(slots.waiting()).toBe(1);
    waiting.catch(() => undefined);
  });

  it('refuses a caller when too many wait', async () => {
    const slots = createSlots({ concurrent: 1, queued: 0 });
    await slots.take(never);
    await expect(slots.take(never)).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('forgets a caller that gives up waiting', async () => {
    const slots = createSlots({ concurrent: 1, queued: 1 });
    const release = await slots.take(never);
    const giveUp = new AbortController();
    const waiting = slots.take(giveUp.signal);
    giveUp.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(slots.waiting()).toBe(0);
    release();
    await expect(slots.take(never)).resolves.toBeInstanceOf(Function);
  });
});
