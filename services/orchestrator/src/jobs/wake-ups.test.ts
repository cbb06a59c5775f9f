import { describe, expect, it } from '@jest/globals';
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

  it('returns the same notifier for a topic each time', () => {
    const wakeUps = createWakeUps();
    expect(wakeUps.notifier('turn')).toBe(wakeUps.notifier('turn'));
  });
});
