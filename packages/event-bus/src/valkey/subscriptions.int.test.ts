import { expect, it } from '@jest/globals';
import { parseValkeyUrl, silentLogger } from '@uswarm/service-kit';
import { valkeyCommand } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { connectToPrimaries } from './connections.js';
import { createSubscriptions } from './subscriptions.js';
import { createTopology } from './topology.js';

const ignore = (): void => undefined;

describeWith('valkey', 'sharded subscriptions', () => {
  it('come back, and are reported, if the server has ended one while the client awaits another reply', async () => {
    const target = parseValkeyUrl(process.env['TEST_REDIS_URL'] ?? '');
    const log = { disconnected: ignore, reconnected: ignore, unresponsive: ignore };
    const topology = createTopology({ target, name: 'test', log });
    const connections = connectToPrimaries(topology, {
      target,
      name: 'test',
      role: 'subscribe',
      log,
      timing: { heartbeatMs: 1_000, answerDeadlineMs: 4_000 },
      queue: { length: 10, deadlineMs: 2_000 },
    });
    const stop = new AbortController();
    const subscriptions = createSubscriptions({
      connections,
      topology,
      logger: silentLogger,
      reconnect: { initialMs: 20, maxMs: 100 },
      auditMs: 20,
      signal: stop.signal,
    });
    try {
      const [lost, other] = ['one', 'two'].map((name) => `ws:${name}-${crypto.randomUUID()}`) as [string, string];
      const received: string[] = [];
      const reported = new Set<string>();
      subscriptions.onRestored((channels) => channels.forEach((channel) => reported.add(channel)));
      for (const channel of [lost, other]) {
        await subscriptions.subscribe(channel, { text: (text) => received.push(`${channel} ${text}`) });
      }
      // The client takes the server's message for something else, as when a slot moves beside a command.
      connections.linkOf(lost).client.sendCommand(['SUNSUBSCRIBE', lost]).catch(ignore);
      const port = target.nodes[0]?.port ?? 0;
      const count = async () => (await valkeyCommand<[string, number]>(port, 'PUBSUB', 'SHARDNUMSUB', lost))[1];
      expect(await eventually(count, { until: (subscribers) => subscribers === 0 })).toBe(0);
      expect(await eventually(count, { until: (subscribers) => subscribers === 1 })).toBe(1);
      await valkeyCommand(port, 'SPUBLISH', lost, 'again');
      expect(await eventually(() => received, { until: ({ length }) => length > 0 })).toEqual([`${lost} again`]);
      expect(reported).toEqual(new Set([lost, other]));
    } finally {
      stop.abort();
      topology.close();
      await connections.close();
    }
  });
});
