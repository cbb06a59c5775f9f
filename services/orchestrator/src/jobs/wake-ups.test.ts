import { describe, expect, it } from '@jest/globals';
import { createMemoryBus } from '@uswarm/event-bus';
import { createWakeUps } from './wake-ups.js';

describe('createWakeUps', () => {
  it('wakes the subscribers of a topic and no others', () => {
    const wakeUps = createWakeUps();
    const woken: string[] = [];
    wakeUps.subscribe('turn', () => woken.push('turn'));
    wakeUps.subscribe('turn', () => woken.push('turn again'));
    wakeUps.subscribe('runtime', () => woken.push('runtime'));
    wakeUps.notifier('turn')();
    expect(woken).toEqual(['turn', 'turn again']);
  });

  it('passes a topic on to the other processes, which do not pass it on again', async () => {
    const bus = createMemoryBus();
    const [busy, free] = [createWakeUps(bus), createWakeUps(bus)];
    const woken: unknown[] = [];
    free.subscribe('turn', (isHint) => woken.push(['turn', isHint]));
    free.subscribe('runtime', () => woken.push('runtime'));
    await new Promise((resolve) => setImmediate(resolve));
    busy.passOn('turn');
    await new Promise((resolve) => setImmediate(resolve));
    expect(woken).toEqual([['turn', true]]);
  });

  it('returns the same notifier for a topic each time', () => {
    const wakeUps = createWakeUps();
    expect(wakeUps.notifier('turn')).toBe(wakeUps.notifier('turn'));
  });
});
