import { describe, expect, it } from '@jest/globals';
import { createMemoryBus } from '@uswarm/event-bus';
import { createStopHints } from './stop-hints.js';

const delivered = () => new Promise((resolve) => setImmediate(resolve));

describe('the hint that a stop was requested', () => {
  it('reaches the process that runs the turn, and only while it does', async () => {
    const bus = createMemoryBus();
    const [sender, holder] = [createStopHints(bus), createStopHints(bus)];
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
