import { describe, expect, it } from '@jest/globals';
import { createMemoryBus } from '@uswarm/event-bus';
import { createStopSignals } from './stop-signals.js';

const delivered = () => new Promise((resolve) => setImmediate(resolve));

describe('the signal that a stop was requested', () => {
  it('reaches the process that runs the turn, and only while it does', async () => {
    const bus = createMemoryBus();
    const [sender, holder] = [createStopSignals(bus), createStopSignals(bus)];
    const checks: string[] = [];
    const end = holder.watch('t', () => checks.push('t'));
    holder.watch('other', () => checks.push('other'));
    await delivered();
    sender.send('t');
    await delivered();
    expect(checks).toEqual(['t']);
    end();
    sender.send('t');
    await delivered();
    expect(checks).toEqual(['t']);
  });
});
