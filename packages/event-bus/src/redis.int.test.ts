import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createClient } from '@redis/client';
import { createLogger, silentLogger } from '@uswarm/service-kit';
import { type RunningValkey, startValkey } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { collect, deleted, describeBus, seqs } from '../test/bus-contract.js';
import type { EventBus } from './event-bus.js';
import { channelName, createRedisBus } from './redis.js';

const url = process.env['TEST_REDIS_URL'] ?? '';

describeWith('valkey', 'createRedisBus', () => {
  describeBus((options) => {
    const open = (): EventBus => createRedisBus({ ...options, url, logger: silentLogger });
    return { publisher: open(), subscriber: open() };
  });

  describe('on a dedicated server', () => {
    const onInvalid = jest.fn();
    let folder: string;
    let server: RunningValkey;
    let admin: ReturnType<typeof createClient>;
    let bus: EventBus;
    let workspaceId: string;
    // A dedicated server, because tests kill connections by name, and other tests use the same names.
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'uswarm-bus-'));
      server = await startValkey({ directory: folder });
      admin = createClient({ url: server.url });
    });
    afterAll(async () => {
      await server?.close();
      await rm(folder, { recursive: true, force: true });
    });
    const serverSubscriptions = async (): Promise<number> =>
      (await admin.pubSubShardNumSub(channelName(workspaceId)))[channelName(workspaceId)] ?? 0;

    beforeEach(async () => {
      onInvalid.mockClear();
      workspaceId = randomUUID();
      bus = createRedisBus({ url: server.url, logger: silentLogger, onInvalid });
      if (!admin.isOpen) await admin.connect();
    });
    afterEach(async () => {
      await bus.close();
      await admin.close();
    });

    it('publishes a session end to gateways of release 0.2 without `code`, which they reject', async () => {
      const gateway = createClient({ url: server.url });
      await gateway.connect();
      const received = Promise.withResolvers<string>();
      await gateway.sSubscribe('ws:sessions', received.resolve);
      const end = { v: 1, user_id: randomUUID(), token_hash: 'a'.repeat(64) } as const;
      expect(await bus.publishSessionEnd({ ...end, code: 'logged_out' })).toBe(true);
      expect(JSON.parse(await received.promise)).toEqual(end);
      gateway.destroy();
    });

    it('publishes a session end with its code to the servers of the adapter first', async () => {
      const gateway = createClient({ url: server.url });
      await gateway.connect();
      const received: [string, unknown][] = [];
      const both = Promise.withResolvers<void>();
      const listen = (text: string, channel: string): void => {
        if (received.push([channel, JSON.parse(text)]) === 2) both.resolve();
      };
      await gateway.sSubscribe(['ws:sessions', 'ws:io#/v1#'], listen);
      const end = { v: 1, user_id: randomUUID(), token_hash: null, code: 'user_banned' } as const;
      await bus.publishSessionEnd(end);
      await both.promise;
      expect(received.map(([channel]) => channel)).toEqual(['ws:io#/v1#', 'ws:sessions']);
      expect(received[0]?.[1]).toMatchObject({ nsp: '/v1', data: { packet: ['session.end', end] } });
      // The bus does not subscribe as an adapter server, so no server awaits its response.
      expect((await admin.pubSubShardNumSub('ws:io#/v1#'))['ws:io#/v1#']).toBe(1);
      gateway.destroy();
    });

    it('keeps one server subscription per workspace until the last listener unsubscribes', async () => {
      const unsubscribes = await Promise.all(Array.from({ length: 5 }, () => bus.subscribe(workspaceId, () => {})));
      expect(await serverSubscriptions()).toBe(1);
      for (const unsubscribe of unsubscribes.slice(1)) unsubscribe();
      expect(await serverSubscriptions()).toBe(1);
      unsubscribes[0]?.();
      while ((await serverSubscriptions()) > 0);
    });

    it('drops and counts messages that are not JSON or name another workspace', async () => {
      const inbox = collect();
      await bus.subscribe(workspaceId, inbox.listener);
      await admin.sPublish(channelName(workspaceId), '{');
      await admin.sPublish(channelName(workspaceId), JSON.stringify(deleted(randomUUID(), 1)));
      await admin.sPublish(channelName(workspaceId), JSON.stringify(deleted(workspaceId, 2)));
      await inbox.until(2);
      expect(seqs(inbox.received)).toEqual([2]);
      expect(onInvalid).toHaveBeenCalledTimes(2);
    });

    it('restores its subscriptions after the server closed its connections, and reports it', async () => {
      const inbox = collect();
      let reconnects = 0;
      const stop = bus.onReconnect(() => (reconnects += 1));
      const stopped = bus.onReconnect(() => (reconnects += 100));
      stopped();
      await bus.subscribe(workspaceId, inbox.listener);
      const ownConnections = (await admin.clientList()).filter(({ name }) => name.startsWith('uswarm-bus-'));
      for (const { id } of ownConnections) {
        await admin.sendCommand(['CLIENT', 'KILL', 'ID', String(id)]);
      }
      // The subscription is active when the server counts it.
      while ((await serverSubscriptions()) === 0);
      await bus.publish(deleted(workspaceId, 1));
      await inbox.until(1);
      expect(seqs(inbox.received)).toEqual([1]);
      expect(reconnects).toBe(1);
      stop();
      await bus.subscribe(randomUUID(), () => {});
      expect(bus.healthy()).toBe(true);
    });

    it('replaces both connections when the server hangs under traffic, and delivers events afterwards', async () => {
      const lines: string[] = [];
      const destination = { write: (line: string) => void lines.push(line) };
      const logger = createLogger({ service: 'test', destination });
      const busy = createRedisBus({ url: server.url, logger, heartbeatMs: 50, answerDeadlineMs: 500 });
      const replaced = (): Set<string> =>
        new Set(
          lines
            .map((line) => JSON.parse(line) as { msg: string; role: string })
            .filter(({ msg }) => msg === 'event bus unresponsive; replacing the connection')
            .map(({ role }) => role),
        );
      const inbox = collect();
      await busy.subscribe(workspaceId, inbox.listener);
      // Both connections have continuous writes, as during streaming and while clients subscribe.
      const traffic = setInterval(() => {
        void busy.publish(deleted(randomUUID(), 1));
        busy.subscribe(randomUUID(), () => undefined).catch(() => undefined);
      }, 20);
      try {
        expect(replaced().size).toBe(0);
        process.kill(server.pid, 'SIGSTOP');
        expect(await eventually(replaced, { until: (roles) => roles.size === 2 })).toEqual(
          new Set(['publish', 'subscribe']),
        );
        expect(await eventually(() => busy.healthy(), { until: (healthy) => !healthy })).toBe(false);
      } finally {
        process.kill(server.pid, 'SIGCONT');
        clearInterval(traffic);
      }
      expect(await eventually(() => busy.healthy(), { until: (healthy) => healthy })).toBe(true);
      const order = Array.from({ length: 50 }, (_, index) => index + 1);
      for (const seq of order) expect(await busy.publish(deleted(workspaceId, seq))).toBe(true);
      await inbox.until(50);
      expect(seqs(inbox.received)).toEqual(order);
      await busy.close();
    });

    it('is unhealthy without a server, and close rejects pending subscriptions', async () => {
      const early = createRedisBus({ url: 'redis://127.0.0.1:1', logger: silentLogger });
      const outcome = early
        .subscribe(workspaceId, () => {})
        .then(
          () => 'subscribed',
          () => 'rejected',
        );
      expect(early.healthy()).toBe(false);
      await early.close();
      expect(await outcome).toBe('rejected');
    });
  });
});
