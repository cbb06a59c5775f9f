import { describe, expect, it } from '@jest/globals';
import { createMemoryBus } from '@uswarm/event-bus';
import { createJobSignals } from './job-signals.js';

describe('createJobSignals', () => {
  it('calls the subscribers of a topic and no others', () => {
    const jobSignals = createJobSignals();
    const polled: string[] = [];
    jobSignals.subscribe('turn', () => polled.push('turn'));
    jobSignals.subscribe('turn', () => polled.push('turn again'));
    jobSignals.subscribe('runtime', () => polled.push('runtime'));
    jobSignals.notifier('turn')();
    expect(polled).toEqual(['turn', 'turn again']);
  });

  it('passes a topic on to the other processes, which do not pass it on again', async () => {
    const bus = createMemoryBus();
    const [busy, free] = [createJobSignals(bus), createJobSignals(bus)];
    const polled: unknown[] = [];
    free.subscribe('turn', (isForwarded) => polled.push(['turn', isForwarded]));
    free.subscribe('runtime', () => polled.push('runtime'));
    await new Promise((resolve) => setImmediate(resolve));
    busy.forward('turn');
    await new Promise((resolve) => setImmediate(resolve));
    expect(polled).toEqual([['turn', true]]);
  });

  it('returns the same notifier for a topic each time', () => {
    const jobSignals = createJobSignals();
    expect(jobSignals.notifier('turn')).toBe(jobSignals.notifier('turn'));
  });
});
