import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import { createMemoryBus, createRedisBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { sql } from 'kysely';
import { insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createStores } from '../../../test/stores.js';
import { first } from '../../../test/test-orchestrator.js';
import { currentViewContext } from '../../../test/view-context.js';
import type { LoggedEvent } from '../event-publisher.js';
import { createEventRenderer } from '../event-payloads.js';
import { createEventLog } from '../../records/event-log.js';
import { type CommittedEvents, createCommittedEvents } from './committed-events.js';
import { advanceOutbox } from './outbox.store.js';
import * as outboxRecords from './outbox.store.js';
import { createPublishEvents } from './publish-events.js';
import { type Relay, type RelayDeps, startRelay } from './relay.js';
import type { RelayMetrics } from './relay-metrics.js';

const PER_WORKSPACE = 40;

/** Keeps a loop from running before the test ends. */
const NEVER_MS = 3_600_000;

interface Options extends Partial<Pick<RelayDeps, 'pollMs' | 'limits'>> {
  publish?: (event: LoggedEvent) => Promise<boolean>;
  advance?: typeof advanceOutbox;
  committed?: CommittedEvents;
  metrics?: RelayMetrics;
  epoch?: () => string;
}

describe('the relay', () => {
  let db: MigratedDatabase;
  let bus: EventBus;
  let relays: Relay[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    bus = createMemoryBus();
  });
  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.close()));
    relays = [];
    await db.database.deleteFrom('users').execute();
    await sql`TRUNCATE event_outbox, workspace_events`.execute(db.database);
  });
  afterAll(async () => {
    await bus.close();
    await db.close();
  });

  const toBus = (event: LoggedEvent) => bus.publish({ v: 2, epoch: 'e0', ...event });
  const start = ({ publish = toBus, advance, committed, metrics, epoch, ...deps }: Options = {}): Relay => {
    const { database } = db;
    const relay = startRelay({
      database,
      store: { ...outboxRecords, ...(advance && { advanceOutbox: advance }) },
      publish: createPublishEvents({
        database,
        render: createEventRenderer({ ...createStores(database), createViewContext: currentViewContext }),
        publish,
        epoch: epoch ?? (() => 'e0'),
        metrics,
      }),
      committed: committed ?? createCommittedEvents(),
      metrics,
      logger: silentLogger,
      pollMs: 1,
      pauseMs: 0,
      advanceMs: 0,
      leases: { all: () => [], extended: () => undefined },
      ...deps,
    });
    relays.push(relay);
    return relay;
  };
  const unpublished = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      SELECT coalesce(sum(upto_seq - from_seq + 1), 0)::bigint AS count FROM event_outbox`.execute(db.database);
    return first(rows).count;
  };
  /** Makes the events due for the shards, as a second after their transaction. */
  const makeDue = () => sql`UPDATE event_outbox SET due_at = now() - interval '1 second'`.execute(db.database);
  /** Inserts workspaces with messages that wait, and records the seqs that the bus delivers for each. */
  const listen = async (workspaces: number, perWorkspace = PER_WORKSPACE) => {
    const workspaceIds = await insertWorkspaces(db.database, workspaces);
    const received = new Map<string, number[]>(workspaceIds.map((id) => [id, []]));
    const receive = (envelope: BusEnvelope) =>
      envelope.kind !== 'ephemeral' && received.get(envelope.workspace_id)?.push(envelope.seq);
    for (const id of workspaceIds) await bus.subscribe(id, receive);
    await insertMessages(db.database, perWorkspace);
    await makeDue();
    return received;
  };
  const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);
  const inOrder = upTo(PER_WORKSPACE);
  const published = () => eventually(unpublished, { until: (count) => count === 0 });
  const distinct = (seqs: readonly number[]) => [...new Set(seqs)];

  describe('with waiting events of other processes', () => {
    it('publishes them once, in seq order', async () => {
      const received = await listen(3);
      const ages: number[] = [];
      start({ metrics: { published: (seconds) => ages.push(seconds), failed: () => undefined } });
      expect(await published()).toBe(0);
      expect(ages).toHaveLength(3 * PER_WORKSPACE);
      for (const age of ages) expect(age).toBeGreaterThan(0);
      expect([...received.values()]).toEqual([inOrder, inOrder, inOrder]);
    });

    it('publishes them in seq order with four concurrent relays, each for a part of the shards', async () => {
      const received = await listen(120);
      for (let n = 0; n < 4; n += 1) start();
      expect(await published()).toBe(0);
      await Promise.all(relays.map((relay) => relay.close()));
      // Until the relays know each other, several can publish the same event.
      expect(Array.from(received.values(), distinct)).toEqual([...received].map(() => inOrder));
    });

    it('publishes those of a relay that ended, after its announcement expired', async () => {
      await db.database.insertInto('relays').values({ id: '00000000-0000-4000-8000-000000000000' }).execute();
      const received = await listen(20);
      start();
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([...received].map(() => inOrder));
    });

    it('publishes them at least once, in order, after a crash between publication and the advance of the outbox', async () => {
      const received = await listen(1);
      let crashes = 0;
      const relay = start({
        async advance() {
          crashes += 1;
          throw new Error('killed');
        },
      });
      await eventually(() => crashes, { until: (count) => count > 0 });
      await relay.close();
      expect(await unpublished()).toBe(PER_WORKSPACE);
      start();
      expect(await published()).toBe(0);
      const [seqs = []] = received.values();
      expect(distinct(seqs)).toEqual(inOrder);
      expect(seqs.length).toBeGreaterThan(PER_WORKSPACE);
    });

    it('publishes them after an outage of the bus, in seq order', async () => {
      const received = await listen(2);
      let unavailable = true;
      let failures = 0;
      const publish = async (event: LoggedEvent) => (unavailable ? false : toBus(event));
      start({ publish, metrics: { published: () => undefined, failed: () => (failures += 1) } });
      await eventually(() => failures, { until: (count) => count > 1 });
      expect(await unpublished()).toBe(2 * PER_WORKSPACE);
      unavailable = false;
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([inOrder, inOrder]);
    });

    it('continues with the first one that the bus rejected', async () => {
      const received = await listen(2);
      const waiting: number[] = [];
      let unavailable = true;
      const publish = async (event: LoggedEvent) =>
        unavailable && event.seq > 7 ? waiting.push(event.seq) < 0 : toBus(event);
      start({ publish });
      expect(await eventually(unpublished, { until: (count) => count < 2 * PER_WORKSPACE })).toBe(
        2 * (PER_WORKSPACE - 7),
      );
      unavailable = false;
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([inOrder, inOrder]);
    });

    it('publishes them as a skip if their subject was deleted', async () => {
      const [workspaceId] = [...(await listen(1)).keys()];
      const kinds: [number, string][] = [];
      await bus.subscribe(workspaceId ?? '', (envelope) => {
        if (envelope.kind !== 'ephemeral') kinds.push([envelope.seq, envelope.kind]);
      });
      await db.database.deleteFrom('messages').where('seq', '=', 2).execute();
      start();
      expect(await published()).toBe(0);
      expect(kinds.slice(0, 3)).toEqual([
        [1, 'durable'],
        [2, 'skip'],
        [3, 'durable'],
      ]);
    });

    it('forgets those that the log no longer has', async () => {
      const received = await listen(2);
      const [gone, partly] = [...received.keys()];
      await db.database
        .deleteFrom('workspace_events')
        .where('workspace_id', '=', gone ?? '')
        .execute();
      await db.database
        .deleteFrom('workspace_events')
        .where('workspace_id', '=', partly ?? '')
        .where('seq', 'in', [1, 20])
        .execute();
      start();
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([[], inOrder.filter((seq) => seq !== 1 && seq !== 20)]);
    });

    it('publishes them once, while a transaction has locked their row', async () => {
      const received = await listen(1);
      const [workspaceId = ''] = received.keys();
      const { events } = createStores(db.database);
      await db.withTransaction(async (tx) => {
        await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
        let rounds = 0;
        start({ advance: (...ranges) => ((rounds += 1), advanceOutbox(...ranges)) });
        await eventually(() => rounds, { until: (count) => count > 5 });
        expect([...received.values()]).toEqual([inOrder]);
      });
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([upTo(PER_WORKSPACE + 1)]);
    });

    it('publishes those of an epoch only if the epoch did not change while they were read', async () => {
      const received = await listen(1);
      const epochs: string[] = [];
      let reads = 0;
      // The second read differs from the first one.
      const epoch = () => (++reads === 2 ? 'before' : 'after');
      start({
        epoch,
        publish: (event) => {
          epochs.push('published');
          return toBus(event);
        },
      });
      expect(await published()).toBe(0);
      expect([...received.values()]).toEqual([inOrder]);
      expect({ publications: epochs.length, reads }).toEqual({ publications: PER_WORKSPACE, reads: 4 });
    });
  });

  it('publishes a quiet workspace after at most one round of one with 10,000 waiting events', async () => {
    const [busy = '', quiet = ''] = await insertWorkspaces(db.database, 2);
    const order: string[] = [];
    for (const id of [busy, quiet]) await bus.subscribe(id, (envelope) => void order.push(envelope.workspace_id));
    const { events } = createStores(db.database);
    await sql`
      INSERT INTO workspace_events (workspace_id, seq, type, subject_id)
      SELECT ${busy}, n, 'workspace.updated', ${busy} FROM generate_series(1, 10000) n`.execute(db.database);
    await db.withTransaction((tx) =>
      events.append({ workspaceId: quiet, type: 'workspace.updated', subjectId: quiet }, tx),
    );
    // The busy one has waited for longer.
    await sql`
      UPDATE event_outbox SET due_at = now() - CASE workspace_id WHEN ${busy} THEN interval '1 hour' ELSE interval '1 second' END`.execute(
      db.database,
    );
    start();
    await eventually(() => order.includes(quiet), { until: Boolean });
    expect(order.indexOf(quiet)).toBeLessThanOrEqual(50);
    expect(await published()).toBe(0);
    expect(order).toHaveLength(10_001);
  });

  describe('with events of this process', () => {
    /** A store whose events are reported to a relay that does not read the outbox. */
    const own = (options: Options = {}) => {
      const committed = createCommittedEvents();
      start({ committed, pollMs: NEVER_MS, ...options });
      const events = createEventLog(db.database, committed.push);
      const append = (workspaceId: string) =>
        db.withTransaction((tx) =>
          events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx),
        );
      return { append };
    };
    const quiet = async () => {
      const received = await listen(1, 0);
      const [workspaceId = ''] = received.keys();
      return { workspaceId, seqs: () => received.get(workspaceId) ?? [] };
    };

    it('publishes them after their commit, without reading the outbox', async () => {
      const { workspaceId, seqs } = await quiet();
      const { append } = own();
      for (let n = 0; n < 5; n += 1) await append(workspaceId);
      expect(await eventually(seqs, { until: ({ length }) => length === 5 })).toEqual(upTo(5));
      expect(await published()).toBe(0);
    });

    it('publishes them in seq order if twenty transactions commit concurrently', async () => {
      const { workspaceId, seqs } = await quiet();
      const { append } = own();
      await Promise.all(Array.from({ length: 20 }, () => append(workspaceId)));
      await eventually(seqs, { until: ({ length }) => length === 20 });
      // A row that was locked when its event was published leaves with the next event.
      await append(workspaceId);
      await eventually(seqs, { until: ({ length }) => length === 21 });
      expect(seqs().toSorted((a, b) => a - b)).toEqual(upTo(21));
      expect(await published()).toBe(0);
    });

    it('leaves them to the shards if the bus is unavailable', async () => {
      const { workspaceId, seqs } = await quiet();
      let failures = 0;
      const { append } = own({
        publish: async () => false,
        metrics: { published: () => undefined, failed: () => (failures += 1) },
      });
      await append(workspaceId);
      await eventually(() => failures, { until: (count) => count > 0 });
      expect({ waiting: await unpublished(), seqs: seqs() }).toEqual({ waiting: 1, seqs: [] });
      await makeDue();
      start();
      expect(await published()).toBe(0);
      expect(seqs()).toEqual([1]);
    });

    it('publishes them only after the events of other processes have left the outbox', async () => {
      const { workspaceId, seqs } = await quiet();
      const other = createStores(db.database).events;
      await db.withTransaction((tx) =>
        other.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx),
      );
      const { append } = own();
      await append(workspaceId);
      await eventually(seqs, { until: ({ length }) => length === 1 });
      expect({ waiting: await unpublished(), seqs: seqs() }).toEqual({ waiting: 2, seqs: [2] });
      await makeDue();
      start();
      expect(await published()).toBe(0);
      expect(distinct(seqs()).toSorted()).toEqual([1, 2]);
    });
  });

  describeWith('valkey', 'with a slow Valkey', () => {
    it('publishes 1,000 events through a proxy with a delay of 80 ms, each at most twice, and without an open transaction', async () => {
      const url = process.env['TEST_REDIS_URL'] ?? '';
      const proxy = await startFaultInjectionProxy(url, { delayMs: 40 });
      const slow = createRedisBus({ url: proxy.redirect(url), logger: silentLogger });
      const gateway = createRedisBus({ url, logger: silentLogger });
      const [workspaceId = ''] = await insertWorkspaces(db.database, 1);
      const counts = new Map<number, number>();
      await gateway.subscribe(workspaceId, (envelope) => {
        if (envelope.kind === 'durable') counts.set(envelope.seq, (counts.get(envelope.seq) ?? 0) + 1);
      });
      await insertMessages(db.database, 1_000);
      await makeDue();
      const open: number[] = [];
      const observe = async (event: LoggedEvent) => {
        const accepted = slow.publish({ v: 2, epoch: 'e0', ...event });
        if (event.seq % 50 === 0) {
          const { rows } = await sql<{ open: number }>`
            SELECT count(*) AS open FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%'`.execute(db.database);
          open.push(first(rows).open);
        }
        return accepted;
      };
      start({ publish: observe });
      expect(await eventually(() => counts.size, { until: (size) => size === 1_000 })).toBe(1_000);
      expect(await published()).toBe(0);
      expect(Math.max(...counts.values())).toBeLessThanOrEqual(2);
      expect(new Set(open)).toEqual(new Set([0]));
      await Promise.all([slow.close(), gateway.close()]);
      await proxy.close();
    });
  });
});
