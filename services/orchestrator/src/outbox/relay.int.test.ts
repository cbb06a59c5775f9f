import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { BusEnvelope } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { createStores } from '../../test/stores.js';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { eventually } from '../../test/eventually.js';
import { fillMessages, fillWorkspaces } from '../../test/fill.js';
import { showNow } from '../../test/show.js';
import { createEventRenderer } from '../features/events/event-payloads.js';
import type { PollLoop } from '../jobs/poll-loop.js';
import { createRelay, type RelayDeps } from './relay.js';

const PER_WORKSPACE = 40;

describe('the relay', () => {
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
    const render = createEventRenderer({ ...stores, show: showNow });
    const relay = createRelay({
      withTransaction: db.withTransaction,
      store: stores.events,
      render,
      publish: bus.publish,
      logger: silentLogger,
      pollMs: 1,
      ...more,
    });
    relays.push(relay);
    return relay;
  };
  const unpublished = async () =>
    (await db.database.selectFrom('workspace_events').select('seq').where('published_at', 'is', null).execute()).length;
  /** Fills workspaces, and keeps the seqs of each as the bus brings them. */
  const listen = async (workspaces: number) => {
    const workspaceIds = await fillWorkspaces(db.database, workspaces);
    const heard = new Map<string, number[]>(workspaceIds.map((id) => [id, []]));
    const hear = (envelope: BusEnvelope) =>
      envelope.kind === 'durable' && heard.get(envelope.workspace_id)?.push(envelope.seq);
    for (const id of workspaceIds) await bus.subscribe(id, hear);
    await fillMessages(db.database, PER_WORKSPACE);
    return heard;
  };
  const inOrder = Array.from({ length: PER_WORKSPACE }, (_, index) => index + 1);
  const published = () => eventually(unpublished, (count) => count === 0);

  it('publishes each event once, in seq order', async () => {
    const heard = await listen(3);
    const ages: number[] = [];
    start({ metrics: { published: (seconds) => ages.push(seconds), failed: () => undefined } });
    expect(await published()).toBe(0);
    expect(
      await eventually(
        () => ages.length,
        (count) => count === 3 * PER_WORKSPACE,
      ),
    ).toBe(3 * PER_WORKSPACE);
    for (const age of ages) expect(age).toBeGreaterThan(0);
    expect([...heard.values()]).toEqual([inOrder, inOrder, inOrder]);
  });

  it('publishes each event once, in seq order, with four relays at once', async () => {
    const heard = await listen(120);
    for (let n = 0; n < 4; n += 1) start();
    expect(await published()).toBe(0);
    await Promise.all(relays.map((relay) => relay.close()));
    expect([...heard.values()]).toEqual([...heard].map(() => inOrder));
  });

  it('that dies between publishing and committing is made good for by another: at least once, in order', async () => {
    const heard = await listen(1);
    let deaths = 0;
    const dying: RelayDeps['withTransaction'] = (run) =>
      db.withTransaction(async (tx) => {
        await run(tx);
        deaths += 1;
        throw new Error('killed before the commit');
      });
    start({ withTransaction: dying });
    await eventually(
      () => deaths,
      (count) => count > 0,
    );
    expect(await unpublished()).toBe(PER_WORKSPACE);
    start();
    expect(await published()).toBe(0);
    const [seqs = []] = heard.values();
    expect([...new Set(seqs)]).toEqual(inOrder);
    expect(seqs.length).toBeGreaterThan(PER_WORKSPACE);
    // What is heard again starts over from an earlier seq; it never jumps ahead.
    const jumps = seqs.filter((seq, at) => at > 0 && seq > (seqs[at - 1] ?? 0) + 1);
    expect(jumps).toEqual([]);
  });

  it('goes on after the database was away', async () => {
    const heard = await listen(1);
    let fails = 1;
    const failing: RelayDeps['withTransaction'] = async (run) => {
      if (fails-- > 0) throw new Error('connection terminated');
      return db.withTransaction(run);
    };
    start({ withTransaction: failing });
    expect(await published()).toBe(0);
    expect([...heard.values()]).toEqual([inOrder]);
  });

  it('marks nothing while the bus is away, and publishes everything in seq order once it is back', async () => {
    const heard = await listen(2);
    let away = true;
    let refusals = 0;
    let failures = 0;
    const publish: RelayDeps['publish'] = async (envelope) => {
      if (!away) return bus.publish(envelope);
      refusals += 1;
      return false;
    };
    start({ publish, metrics: { published: () => undefined, failed: () => (failures += 1) } });
    await eventually(
      () => refusals,
      (count) => count >= 2,
    );
    expect(failures).toBeGreaterThan(0);
    expect(await unpublished()).toBe(2 * PER_WORKSPACE);
    away = false;
    expect(await published()).toBe(0);
    expect([...heard.values()]).toEqual([inOrder, inOrder]);
  });

  it('marks what the bus took before it went away, and goes on right behind', async () => {
    const heard = await listen(2);
    // In the middle of the second workspace.
    const taken = PER_WORKSPACE + 7;
    let offered = 0;
    let away = false;
    const publish: RelayDeps['publish'] = async (envelope) => {
      offered += 1;
      if (offered === taken + 1) away = true;
      return away ? false : bus.publish(envelope);
    };
    start({ publish });
    const waiting = 2 * PER_WORKSPACE - taken;
    expect(await eventually(unpublished, (count) => count === waiting)).toBe(waiting);
    expect([...heard.values()].flat()).toHaveLength(taken);
    away = false;
    expect(await published()).toBe(0);
    expect([...heard.values()]).toEqual([inOrder, inOrder]);
  });

  it('leaves out an event whose subject is gone, and goes on after it', async () => {
    const heard = await listen(1);
    await db.database.deleteFrom('messages').where('seq', '=', 2).execute();
    start();
    expect(await published()).toBe(0);
    expect([...heard.values()]).toEqual([inOrder.filter((seq) => seq !== 2)]);
  });

  it('woken, does not wait for the next poll', async () => {
    const heard = await listen(1);
    const relay = start({ pollMs: 3_600_000 });
    expect(await published()).toBe(0);
    await db.database.updateTable('workspace_events').set({ published_at: null }).where('seq', '=', 1).execute();
    relay.wake();
    expect(await published()).toBe(0);
    expect([...heard.values()]).toEqual([[...inOrder, 1]]);
  });
});
