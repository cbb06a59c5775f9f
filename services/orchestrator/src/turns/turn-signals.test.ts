import { describe, expect, it } from '@jest/globals';
import { createMemoryBus } from '@uswarm/event-bus';
import { createTurnSignals } from './turn-signals.js';

const delivered = () => new Promise((resolve) => setImmediate(resolve));

describe('the signals about a turn', () => {
  it('reach the process that runs the turn, and only while it does', async () => {
    const bus = createMemoryBus();
    const [sender, holder] = [createTurnSignals(bus), createTurnSignals(bus)];
    const seen: string[] = [];
    const watch = (turn: string) =>
      holder.watch(turn, { stop: () => seen.push(`stop ${turn}`), text: () => seen.push(`text ${turn}`) });
    const end = watch('t');
    watch('other');
    await delivered();
    sender.send('stop', 't');
    sender.send('text', 't');
    await bus.publishSignal('jobs:t');
    await delivered();
    expect(seen).toEqual(['stop t', 'text t']);
    end();
    sender.send('stop', 't');
    await delivered();
    expect(seen).toHaveLength(2);
  });
});
