import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createStores } from '../../test/stores.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertMessages, insertWorkspaces } from '../../test/bulk-data.js';
import { currentViewContext } from '../../test/view-context.js';
import { createEventRenderer } from '../features/events/event-payloads.js';
import type { PollLoop } from '../jobs/poll-loop.js';
import { createRelay, type RelayDeps } from './relay.js';

const PER_WORKSPACE = 40;

describe('createRelay', () => {
  let db: MigratedDatabase;
  let bus: EventBus;
  let relays: PollLoop[] = [];
  beforeAll(async () => {
    db = await createMigratedDatabase();
    bus = createMemoryBus();
  });
  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.close()));
    relays = [];
    await db.database.deleteFrom('users').execute();
  });
  afterAll(async () => {
    await bus.close();
    await db.close();
  });

  const start = (more: Partial<RelayDeps> = {}): PollLoop => {
    const stores = createStores(db.database);
    const render = createEventRenderer({ ...stores, createViewContext: currentViewContext });
    const relay = createRelay({
      withTransaction: db.withTransaction,
      store: stores.events,
      render,
      publish: bus.publish,
      logger: silentLogger,
      pollMs: 1,
      pauseMs: 0,
      ...more,
    });
    relays.push(relay);
    return relay;
  };
  const unpublished = async () =>
    (await db.database.selectFrom('workspace_events').select('seq').where('published_at', 'is', null).execute()).length;
  /** Inserts workspaces with messages, and records the seqs that the bus delivers for each. */
  const listen = async (workspaces: number) => {
    const workspaceIds = await insertWorkspaces(db.database, workspaces);
    const received = new Map<string, number[]>(workspaceIds.map((id) => [id, []]));
    const receive = (envelope: BusEnvelope) =>
      envelope.kind === 'durable' && received.get(envelope.workspace_id)?.push(envelope.seq);
    for (const id of workspaceIds) await bus.subscribe(id, receive);
    await insertMessages(db.database, PER_WORKSPACE);
    return received;
  };
  const inOrder = Array.from({ length: PER_WORKSPACE }, (_, index) => index + 1);
  const published = () => eventually(unpublished, { until: (count) => count === 0 });

  it('publishes each event once, in seq order', async () => {
    const received = await listen(3);
    const ages: number[] = [];
    start({ metrics: { published: (seconds) => ages.push(seconds), failed: () => undefined } });
    expect(await published()).toBe(0);
    expect(await eventually(() => ages.length, { until: (count) => count === 3 * PER_WORKSPACE })).toBe(
      3 * PER_WORKSPACE,
    );
    for (const age of ages) expect(age).toBeGreaterThan(0);
    expect([...received.values()]).toEqual([inOrder, inOrder, inOrder]);
  });

  it('publishes each event once, in seq order, with four concurrent relays', async () => {
    const received = await listen(120);
    for (let n = 0; n < 4; n += 1) start();
    expect(await published()).toBe(0);
    await Promise.all(relays.map((relay) => relay.close()));
    expect([...received.values()]).toEqual([...received].map(() => inOrder));
  });

  it('publishes at least once, in order, when a relay crashes between publication and commit', async () => {
    const received = await listen(1);
    let crashes = 0;
    const crashing: RelayDeps['withTransaction'] = (run) =>
      db.withTransaction(async (tx) => {
        await run(tx);
        crashes += 1;
        throw new Error('killed before the commit');
      });
    start({ withTransaction: crashing });
    await eventually(() => crashes, { until: (count) => count > 0 });
    expect(await unpublished()).toBe(PER_WORKSPACE);
    start();
    expect(await published()).toBe(0);
    const [seqs = []] = received.values();
    expect([...new Set(seqs)]).toEqual(inOrder);
    expect(seqs.length).toBeGreaterThan(PER_WORKSPACE);
    // Redelivery restarts at an earlier seq and never skips one.
    const jumps = seqs.filter((seq, at) => at > 0 && seq > (seqs[at - 1] ?? 0) + 1);
    expect(jumps).toEqual([]);
  });

  it('continues after an outage of the database', async () => {
    const received = await listen(1);
    let fails = 1;
    const failing: RelayDeps['withTransaction'] = async (run) => {
      if (fails-- > 0) throw new Error('connection terminated');
      return db.withTransaction(run);
    };
    start({ withTransaction: failing });
    expect(await published()).toBe(0);
    expect([...received.values()]).toEqual([inOrder]);
  });

  it('marks no event while the bus is unavailable, and publishes all in seq order afterwards', async () => {
    const received = await listen(2);
    let unavailable = true;
    let refusals = 0;
    let failures = 0;
    const publish: RelayDeps['publish'] = async (envelope) => {
      if (!unavailable) return bus.publish(envelope);
      refusals += 1;
      return false;
    };
    start({ publish, metrics: { published: () => undefined, failed: () => (failures += 1) } });
    // Each round offers the first event of both workspaces.
    await eventually(() => refusals, { until: (count) => count > 2 });
    expect(failures).toBeGreaterThan(0);
    expect(await unpublished()).toBe(2 * PER_WORKSPACE);
    unavailable = false;
    expect(await published()).toBe(0);
    expect([...received.values()]).toEqual([inOrder, inOrder]);
  });

  it('marks the events that the bus accepted before an outage, and continues after them', async () => {
    const received = await listen(2);
    // In the middle of both workspaces, which are published concurrently.
    const taken = PER_WORKSPACE + 7;
    let offered = 0;
    let unavailable = false;
    const publish: RelayDeps['publish'] = async (envelope) => {
      offered += 1;
      if (offered === taken + 1) unavailable = true;
      return unavailable ? false : bus.publish(envelope);
    };
    start({ publish });
    const waiting = 2 * PER_WORKSPACE - taken;
    expect(await eventually(unpublished, { until: (count) => count === waiting })).toBe(waiting);
    expect([...received.values()].flat()).toHaveLength(taken);
    unavailable = false;
    expect(await published()).toBe(0);
    expect([...received.values()]).toEqual([inOrder, inOrder]);
  });

  it('skips an event whose subject was deleted', async () => {
    const received = await listen(1);
    await db.database.deleteFrom('messages').where('seq', '=', 2).execute();
    start();
    expect(await published()).toBe(0);
    expect([...received.values()]).toEqual([inOrder.filter((seq) => seq !== 2)]);
  });

  it('publishes immediately when it is woken', async () => {
    const received = await listen(1);
    const relay = start({ pollMs: 3_600_000 });
    expect(await published()).toBe(0);
    await db.database.updateTable('workspace_events').set({ published_at: null }).where('seq', '=', 1).execute();
    relay.wake();
    expect(await published()).toBe(0);
    expect([...received.values()]).toEqual([[...inOrder, 1]]);
  });
});
