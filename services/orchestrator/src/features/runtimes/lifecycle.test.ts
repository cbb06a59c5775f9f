import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import fc from 'fast-check';
import type { Database } from '../../database/database.js';
import type { LeasedWork } from '../../work/work.store.js';
import { createLifecycle } from './lifecycle.js';
import { PlatformUnreachable, type RuntimeObservation } from './runtime-driver.js';
import { createRuntimeWishes } from './runtime-wishes.js';
import type { RuntimeRow } from './runtimes.store.js';

const WORK: LeasedWork = {
  kind: 'runtime',
  subjectId: 'w',
  workspaceId: 'w',
  leaseId: 'l',
  attempts: 1,
  failures: 0,
  takenOver: false,
};
const NO_DATABASE = {} as Database;
const ADDRESS = 'http://runtime:1';
const IDLE_MS = 60_000;
const START = new Date('2026-11-21T10:00:00Z').getTime();

/** Postgres, a platform and a runtime in memory. Transactions are atomic, everything else can be interrupted. */
function createWorld() {
  let now = START;
  const clock = { now: () => new Date(now) };
  const row: RuntimeRow = {
    workspace_id: 'w',
    user_id: 'u',
    desired: 'running',
    phase: 'Pending',
    reason: '',
    verified: false,
    address: null,
    instance_id: null,
    identified_at: null,
    failures: 0,
    wanted_at: clock.now(),
    updated_at: clock.now(),
  };
  /** What the platform was told, what it made of it, and since when the runtime does nothing. */
  const platform = { suspended: false, runs: true, reachable: true, held: false, instance: 1, idleSince: START };
  const seen = {
    turns: 0,
    suspensions: 0,
    wakes: 0,
    ready: [] as string[],
    events: 0,
    statuses: [] as string[],
    turnsHurried: 0,
  };
  let interruption: (() => Promise<void>) | undefined;
  /** Where another process may come in between. */
  const gap = async (): Promise<void> => {
    const run = interruption;
    interruption = undefined;
    await run?.();
  };

  const store = {
    get: async () => (await gap(), { ...row }),
    lock: async () => row.desired,
    resume: async () => void Object.assign(row, { desired: 'running', failures: 0, wanted_at: clock.now() }),
    update: async (_id: string, update: object) => void Object.assign(row, update, { updated_at: clock.now() }),
    remove: async () => undefined,
    want: async () => undefined,
    unwant: async () => undefined,
  };
  const observe = (): RuntimeObservation => {
    const suspend = platform.suspended || platform.held;
    if (suspend) return { phase: 'Suspended', reason: 'Suspended', address: null, current: !platform.runs };
    if (platform.runs) return { phase: 'Ready', reason: '', address: ADDRESS, current: true };
    return { phase: 'Progressing', reason: 'Starting', address: null, current: true };
  };
  const look = createLifecycle({
    transaction: async (run) => {
      await gap();
      return run(NO_DATABASE);
    },
    store,
    work: { holds: async () => true, waits: async () => seen.turns > 0 },
    driver: {
      async ensure({ suspended }) {
        await gap();
        if (!platform.reachable) throw new PlatformUnreachable('cut');
        platform.suspended = suspended;
        return observe();
      },
      remove: async () => true,
      onChange: () => undefined,
    },
    client: {
      async identify() {
        await gap();
        if (!platform.runs) throw new Error('nobody is there');
        return { instanceId: String(platform.instance) };
      },
      async status() {
        await gap();
        if (!platform.runs) throw new Error('nobody is there');
        return { busy: false, idleMs: now - platform.idleSince };
      },
    },
    events: { append: async () => (seen.events += 1) },
    agents: {
      list: async () => [
        {
          id: 'a',
          name: 'A',
          role: 'r',
          kind: 'manager',
          slug: 'a',
          avatar_url: '',
          activity: 'online',
          phase: null,
          identified_at: null,
        },
      ],
    },
    publish: async ({ payload }) => (seen.statuses.push((payload as { status: string }).status), true),
    committed: () => undefined,
    ready: async () => void (seen.turnsHurried += 1),
    idleSuspendAfterMs: IDLE_MS,
    metrics: {
      suspended: () => (seen.suspensions += 1),
      woken: () => (seen.wakes += 1),
      ready: (start) => seen.ready.push(start),
    },
    clock,
    logger: silentLogger,
  });
  const wishes = createRuntimeWishes({
    store,
    work: { enqueue: async () => undefined },
    woken: () => undefined,
    wake: () => undefined,
  });

  return {
    row,
    platform,
    seen,
    look: () => look(WORK, new AbortController().signal),
    /** A message comes, as the message service stores it. */
    async message() {
      await wishes.keepAwake('w', NO_DATABASE);
      seen.turns += 1;
    },
    /** A message comes by a replica of an older version, which wakes nobody. */
    messageOfBefore: () => void (seen.turns += 1),
    /** The runtime answers what waits, if it can. */
    answer() {
      if (row.phase !== 'Ready' || !platform.runs || seen.turns === 0) return;
      seen.turns = 0;
      platform.idleSince = now;
    },
    /** The platform does what it was told. */
    catchUp() {
      const runs = !platform.suspended && !platform.held;
      if (runs && !platform.runs) Object.assign(platform, { instance: platform.instance + 1, idleSince: now });
      platform.runs = runs;
    },
    pass: (ms: number) => void (now += ms),
    /** At the next place where another process may come in between. */
    interrupt: (run: () => Promise<void>, after: number) => {
      const wait = (left: number): (() => Promise<void>) =>
        left === 0 ? run : async () => void (interruption = wait(left - 1));
      interruption = wait(after);
    },
    uninterrupted: () => void (interruption = undefined),
  };
}
type World = ReturnType<typeof createWorld>;

async function idleWorld(): Promise<World> {
  const world = createWorld();
  await world.look();
  world.pass(IDLE_MS);
  return world;
}

describe('an idle runtime', () => {
  it('is suspended once it was idle for long enough, and everybody sees it', async () => {
    const world = createWorld();
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Ready', verified: true });
    world.pass(IDLE_MS - 1);
    await world.look();
    expect(world.row.desired).toBe('running');
    world.pass(1);
    const { events } = world.seen;
    expect(await world.look()).toEqual({ againInMs: 0 });
    expect(world.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
    expect([world.seen.events, world.seen.statuses.at(-1), world.seen.suspensions]).toEqual([events + 1, 'offline', 1]);
    await world.look();
    expect(world.platform.suspended).toBe(true);
    expect([world.row.address, world.seen.events]).toEqual([null, events + 1]);
  });

  it('stays while a turn waits', async () => {
    const world = await idleWorld();
    await world.message();
    await world.look();
    expect(world.row).toMatchObject({ desired: 'running', phase: 'Ready' });
  });

  it('is asked by what it does, not by when it was last looked at', async () => {
    const world = createWorld();
    for (let time = 0; time < IDLE_MS; time += 10_000) {
      expect(await world.look()).toEqual({ againInMs: 10_000 });
      world.pass(10_000);
    }
    await world.look();
    expect(world.row.desired).toBe('suspended');
  });

  it('wakes on a message, is Ready, and its turns are due', async () => {
    const world = await idleWorld();
    await world.look();
    await world.look();
    world.catchUp();
    world.pass(3_600_000);
    await world.message();
    expect(world.row.desired).toBe('running');
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Progressing' });
    world.catchUp();
    const { turnsHurried } = world.seen;
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Ready', instance_id: '2' });
    expect([world.seen.turnsHurried, world.seen.ready]).toEqual([turnsHurried + 1, ['first', 'wake']]);
  });

  it('wakes for a turn that was stored by who does not know of suspensions', async () => {
    const world = await idleWorld();
    await world.look();
    world.messageOfBefore();
    await world.look();
    expect([world.row.desired, world.platform.suspended, world.seen.wakes]).toEqual(['running', false, 1]);
  });

  it('is deleted like any other', async () => {
    const world = await idleWorld();
    await world.look();
    world.row.desired = 'deleted';
    expect(await world.look()).toEqual({ done: true });
  });
});

describe('a runtime that an operator holds', () => {
  it('is Suspended and not suspended by us, and runs when it is let go', async () => {
    const world = createWorld();
    await world.look();
    world.platform.held = true;
    world.catchUp();
    world.pass(10 * IDLE_MS);
    await world.look();
    await world.message();
    await world.look();
    expect(world.row).toMatchObject({ desired: 'running', phase: 'Suspended', reason: 'Held' });
    world.platform.held = false;
    world.catchUp();
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Ready', reason: '' });
  });
});

describe('while the platform cannot be reached', () => {
  it('a runtime that answers stays Ready', async () => {
    const world = createWorld();
    await world.look();
    world.platform.reachable = false;
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Ready', reason: '', address: ADDRESS, failures: 0 });
  });

  it('one that is to wake stays as it was, and is tried again soon', async () => {
    const world = await idleWorld();
    await world.look();
    await world.message();
    world.platform.reachable = false;
    const { againInMs } = (await world.look()) as { againInMs: number };
    expect(againInMs).toBeLessThan(1_000);
    expect(world.row).toMatchObject({ phase: 'Suspended', reason: 'PlatformUnreachable' });
  });
});

describe('whatever comes when', () => {
  type Step = (world: World) => Promise<void> | void;
  const steps: Record<string, Step> = {
    look: async (world) => void (await world.look()),
    message: (world) => world.message(),
    messageOfBefore: (world) => world.messageOfBefore(),
    answer: (world) => world.answer(),
    catchUp: (world) => world.catchUp(),
    passIdle: (world) => world.pass(IDLE_MS),
    passSome: (world) => world.pass(10_000),
    hold: (world) => void (world.platform.held = true),
    letGo: (world) => void (world.platform.held = false),
    cut: (world) => void (world.platform.reachable = false),
    mend: (world) => void (world.platform.reachable = true),
  };
  const step = fc.oneof(
    fc.constantFrom(...Object.keys(steps)).map((name) => ({ name })),
    fc.record({
      name: fc.constant('look'),
      interruptedBy: fc.constantFrom('message', 'catchUp', 'hold'),
      after: fc.nat(6),
    }),
  );

  it('no message is left behind, and what is idle ends up suspended', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
        const world = createWorld();
        for (const each of script) {
          if ('interruptedBy' in each) {
            const other = steps[each.interruptedBy];
            world.interrupt(async () => other?.(world), each.after);
          }
          await steps[each.name]?.(world);
          world.uninterrupted();
        }
        // In the end all is well, and everything that waits is answered.
        Object.assign(world.platform, { held: false, reachable: true });
        await world.message();
        for (let look = 0; look < 3; look += 1) {
          await world.look();
          world.catchUp();
        }
        expect(world.row).toMatchObject({ desired: 'running', phase: 'Ready' });
        world.answer();
        expect(world.seen.turns).toBe(0);
        world.pass(IDLE_MS);
        for (let look = 0; look < 2; look += 1) await world.look();
        expect(world.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
        expect(world.platform.suspended).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('a message that wakes is never followed by a suspension before it is answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(8), fc.boolean(), async (after, suspendedBefore) => {
        const world = await idleWorld();
        if (suspendedBefore) await world.look();
        world.interrupt(() => world.message(), after);
        await world.look();
        world.uninterrupted();
        if (world.seen.turns === 0) return;
        expect(world.row.desired).toBe('running');
        await world.look();
        expect(world.platform.suspended).toBe(false);
      }),
    );
  });
});
