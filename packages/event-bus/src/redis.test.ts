import { describe, expect, it } from '@jest/globals';
import { ErrorReply } from '@redis/client';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { shardedTransport } from './redis.js';

const ignore = (): void => undefined;

/** A client whose connection fails during the commands for which `fails` is true. */
function fakeClient(fails: (command: string, attempt: number) => boolean) {
  const attempts = new Map<string, number>();
  const done: string[] = [];
  const run = async (command: string): Promise<void> => {
    const attempt = (attempts.get(command) ?? 0) + 1;
    attempts.set(command, attempt);
    if (fails(command, attempt)) throw new Error('Socket closed unexpectedly');
    done.push(command);
  };
  const sSubscribe = (channel: string | string[]): Promise<void> => run(`subscribe ${String(channel)}`);
  const sUnsubscribe = (channel?: string | string[]): Promise<void> => run(`unsubscribe ${String(channel)}`);
  return { done, client: { sSubscribe, sUnsubscribe } };
}

describe('the subscriptions of the Redis bus', () => {
  it('are open if a channel is opened again while its close is retried', async () => {
    const { client, done } = fakeClient((command, attempt) => attempt <= (command.startsWith('unsubscribe') ? 3 : 1));
    const transport = shardedTransport(client, silentLogger, new AbortController().signal);
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
    const { client, done } = fakeClient(() => false);
    const sUnsubscribe = async (): Promise<void> => {
      throw new ErrorReply('NOPERM');
    };
    const transport = shardedTransport({ ...client, sUnsubscribe }, silentLogger, new AbortController().signal);
    transport.close('a', ignore);
    await transport.open('a', ignore);
    expect(done).toEqual(['subscribe ws:a']);
  });

  it('are rejected when the bus is closed while an earlier command is retried', async () => {
    const { client } = fakeClient(() => true);
    const stop = new AbortController();
    const transport = shardedTransport(client, silentLogger, stop.signal);
    transport.close('a', ignore);
    const opened = transport.open('a', ignore);
    stop.abort();
    await expect(opened).rejects.toThrow();
  });
});
