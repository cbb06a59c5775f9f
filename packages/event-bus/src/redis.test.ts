import { describe, expect, it } from '@jest/globals';
import { ErrorReply } from '@redis/client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { shardedTransport } from './redis.js';

const ignore = (): void => undefined;

/** Subscriptions whose connection fails during the commands for which `fails` is true. */
function fakeSubscriptions(fails: (command: string, attempt: number) => boolean) {
  const attempts = new Map<string, number>();
  const done: string[] = [];
  const run = async (command: string): Promise<void> => {
    const attempt = (attempts.get(command) ?? 0) + 1;
    attempts.set(command, attempt);
    if (fails(command, attempt)) throw new Error('Socket closed unexpectedly');
    done.push(command);
  };
  const subscribe = (channel: string): Promise<void> => run(`subscribe ${channel}`);
  const unsubscribe = (channel: string): Promise<void> => run(`unsubscribe ${channel}`);
  return { done, subscriptions: { subscribe, unsubscribe } };
}

describe('the subscriptions of the Redis bus', () => {
  it('are open if a channel is opened again while its close is retried', async () => {
    const { subscriptions, done } = fakeSubscriptions(
      (command, attempt) => attempt <= (command.startsWith('unsubscribe') ? 3 : 1),
    );
    const transport = shardedTransport(subscriptions, silentLogger, new AbortController().signal);
    await transport.open('a', ignore);
    transport.close('a', ignore);
    const again = transport.open('a', ignore);
    const other = transport.open('b', ignore);
    await other;
    expect(done).toEqual(['subscribe ws:a', 'subscribe ws:b']);
    await again;
    expect(await eventually(() => done.slice(2), { until: ({ length }) => length === 2 })).toEqual([
      'unsubscribe ws:a',
      'subscribe ws:a',
    ]);
  });

  it('are opened after a close that the server has refused', async () => {
    const { subscriptions, done } = fakeSubscriptions(() => false);
    const unsubscribe = async (): Promise<void> => {
      throw new ErrorReply('NOPERM');
    };
    const transport = shardedTransport({ ...subscriptions, unsubscribe }, silentLogger, new AbortController().signal);
    transport.close('a', ignore);
    await transport.open('a', ignore);
    expect(done).toEqual(['subscribe ws:a']);
  });

  it('are rejected when the bus is closed while an earlier command is retried', async () => {
    const { subscriptions } = fakeSubscriptions(() => true);
    const stop = new AbortController();
    const transport = shardedTransport(subscriptions, silentLogger, stop.signal);
    transport.close('a', ignore);
    const opened = transport.open('a', ignore);
    stop.abort();
    await expect(opened).rejects.toThrow();
  });
});
