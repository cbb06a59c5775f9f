import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RunningPostgres, type RunningStandby, startPostgres, startStandby } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { FoldingClient, signUp, USER_NAME } from '../test/realtime/folding-client.js';
import { differencesFromSnapshot } from '../test/realtime/judge.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

describeWith('valkey', 'a failover to an asynchronous standby that lacks the last messages', () => {
  const server = process.env['TEST_POSTGRES_URL'];
  let folder: string;
  let primary: RunningPostgres;
  let replication: FaultInjectionProxy;
  let services: SeparateServices;
  let standby: RunningStandby;
  const clients: FoldingClient[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-failover-'));
    // Postgres runs as another user if we are root.
    await chmod(folder, 0o755);
    primary = await startPostgres({ directory: join(folder, 'primary'), durable: false });
    process.env['TEST_POSTGRES_URL'] = primary.url;
    // Messages are stored without replies.
    services = await startSeparateServices({ TURN_WORKERS: '0', RUNTIME_WORKERS: '0' });
    replication = await startFaultInjectionProxy(primary.url);
    const { hostname: host, port } = new URL(replication.redirect(primary.url));
    standby = await startStandby({ primary, source: { host, port: Number(port) }, directory: join(folder, 'standby') });
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    // Its database is on the primary server.
    await services?.close({ keepDatabase: true });
    await replication?.close();
    await standby?.close();
    await primary?.close();
    process.env['TEST_POSTGRES_URL'] = server;
    await rm(folder, { recursive: true, force: true });
  });

  it('I5: is announced to every device, also to one that comes back later, and all of them have what is left', async () => {
    const token = await services.issuer.issueToken({ email: 'ada@example.com', name: USER_NAME });
    const place = { restUrls: [services.restUrl], socketUrls: [services.socketUrl] };
    await signUp(place, token);
    clients.push(...[0, 1].map((number) => new FoldingClient(place, token, number)));
    const [connected, away] = clients as [FoldingClient, FoldingClient];
    for (const client of clients) void client.join();
    await eventually(() => clients.every(({ known }) => known.size === 1), {
      description: 'both clients have the workspace',
    });
    const [[workspaceId, { conversations }] = ['', { conversations: new Map<string, never>() }]] = connected.known;
    const [conversationId = ''] = conversations.keys();
    const sends = async (count: number) => {
      for (let number = 1; number <= count; number += 1) {
        void connected.send(workspaceId, conversationId);
        const sent = connected.sent.at(-1)!;
        await eventually(() => sent.messageId, { description: `message ${number} of ${count} is acknowledged` });
      }
    };
    const position = () => connected.known.get(workspaceId)?.position;
    const hasMessages = (client: FoldingClient, count: number) =>
      eventually(() => client.known.get(workspaceId)?.messages.size, {
        until: (known) => known === count,
        description: `the client that ${client === away ? 'was away' : 'stayed connected'} has ${count} messages`,
      });

    await sends(1);
    await hasMessages(away, 1);
    const kept = position()!;
    // The standby has what was sent so far, and nothing of what follows. The commits are asynchronous.
    const received = async () => {
      const sql = 'SELECT pg_current_wal_insert_lsn() = replay_lsn AS same FROM pg_stat_replication';
      return (await services.query<{ same: boolean }>(sql))[0]?.same;
    };
    await eventually(received, { description: 'the standby has the first message' });
    replication.freeze();
    await sends(3);
    await hasMessages(away, 4);
    expect(position()).toBeGreaterThan(kept);
    away.goOffline();

    // A primary server that stops sends the rest to its standby first.
    await replication.disconnect();
    await services.databaseProxy.disconnect();
    await primary.close();
    await standby.promote();
    services.databaseProxy.retarget(standby.url);
    await services.databaseProxy.restore();

    // Without any new event, and then with other events that have the same numbers.
    await hasMessages(connected, 1);
    await sends(5);
    away.goOnline();
    await hasMessages(away, 6);
    await hasMessages(connected, 6);
    expect(await differencesFromSnapshot(place, clients)).toEqual([]);
    expect(clients.map(({ resyncs }) => resyncs)).toEqual([['diverged'], ['diverged']]);
  });
});
