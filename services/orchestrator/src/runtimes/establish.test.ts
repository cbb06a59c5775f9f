import { describe, expect, it } from '@jest/globals';
import { establish } from './establish.js';

type Outcome = 'idle' | 'error' | 'pending';

/** Connection attempts have these outcomes, in this order. */
function createConnections(outcomes: readonly Outcome[], state: 'closed' | 'open' = 'closed') {
  const opened: number[] = [];
  const discarded: number[] = [];
  let current: { id: number; session: ReturnType<typeof createSession> } | undefined;
  const createSession = (outcome: Outcome) => ({
    state: () => state,
    connect: () =>
      outcome === 'pending' ? new Promise<never>(() => undefined) : Promise.resolve(outcome as 'idle' | 'error'),
  });
  return {
    opened,
    discarded,
    open() {
      if (current === undefined) {
        current = { id: opened.length, session: createSession(outcomes[opened.length] ?? 'pending') };
        opened.push(current.id);
      }
      return current;
    },
    discard({ id }: { id: number }) {
      discarded.push(id);
      current = undefined;
    },
  };
}

describe('the first connection to a runtime', () => {
  it('is kept if it is established', async () => {
    const connections = createConnections(['idle']);
    await establish(connections);
    expect(connections).toMatchObject({ opened: [0], discarded: [] });
  });

  it('is replaced if the network drops its first packet', async () => {
    const connections = createConnections(['pending', 'pending', 'idle']);
    await establish(connections);
    expect(connections).toMatchObject({ opened: [0, 1, 2], discarded: [0, 1] });
  });

  it('is left to the call after several attempts without a response', async () => {
    const connections = createConnections([]);
    await establish(connections);
    expect(connections).toMatchObject({ opened: [0, 1, 2, 3, 4, 5, 6], discarded: [0, 1, 2, 3, 4, 5, 6] });
  });

  it('is not replaced if the runtime refuses it', async () => {
    const connections = createConnections(['error']);
    await establish(connections);
    expect(connections).toMatchObject({ opened: [0], discarded: [] });
  });

  it('is replaced if it is refused, if the runtime has just become ready', async () => {
    const connections = createConnections(['error', 'error', 'idle']);
    await establish({ ...connections, retryRefused: true });
    expect(connections).toMatchObject({ opened: [0, 1, 2], discarded: [0, 1] });
  });

  it('is left to the call after it was refused for about a second', async () => {
    const connections = createConnections(Array.from({ length: 50 }, () => 'error' as const));
    await establish({ ...connections, retryRefused: true });
    expect(connections.opened).toHaveLength(27);
    expect(connections.discarded).toHaveLength(26);
  });

  it('is not attempted again after the call was aborted', async () => {
    const connections = createConnections(['error']);
    const calling = new AbortController();
    const open = () => {
      calling.abort();
      return connections.open();
    };
    await establish({ ...connections, open, retryRefused: true, signal: calling.signal });
    expect(connections).toMatchObject({ opened: [0] });
  });

  it('is not touched while it is in use', async () => {
    const connections = createConnections(['pending'], 'open');
    await establish(connections);
    expect(connections).toMatchObject({ opened: [0], discarded: [] });
  });
});
