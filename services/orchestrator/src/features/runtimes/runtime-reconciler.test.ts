import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ADDRESS, createWorld, IDLE_MS, type World } from '../../../test/runtime-harness.js';

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
      expect(await world.look()).toEqual({ againInMs: Math.min(IDLE_MS, IDLE_MS - time) });
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
    expect([world.platform.there, world.forgotten]).toEqual([false, ['w']]);
  });
});

describe('a lease that is lost', () => {
  const takenOver = (world: World, after: number): void =>
    world.interrupt(async () => {
      world.removed();
      world.lease.held = false;
      world.lease.lost.abort();
    }, after);

  it('ends the look before anything is made', async () => {
    const world = createWorld();
    takenOver(world, 1);
    await expect(world.look()).rejects.toThrow('aborted');
    expect([world.platform.there, world.lease.enqueued]).toEqual([false, 0]);
  });

  it.each([2, 3])('has removed what was made although all was removed before (%s)', async (after) => {
    const world = createWorld();
    takenOver(world, after);
    await world.look();
    // What the platform was asked for comes late.
    world.platform.there = true;
    expect(world.lease.enqueued).toBe(1);
    expect(await world.look()).toEqual({ done: true });
    expect(world.platform.there).toBe(false);
  });

  it('is of no matter where the workspace lives', async () => {
    const world = createWorld();
    world.lease.held = false;
    await world.look();
    expect([world.platform.there, world.lease.enqueued]).toEqual([true, 0]);
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

describe('a new revision of the platform', () => {
  async function released(): Promise<World> {
    const world = createWorld();
    await world.look();
    world.release();
    return world;
  }

  it('takes the place of an idle runtime when it is its turn, and the runtime comes back by itself', async () => {
    const world = await released();
    await world.look();
    expect([world.platform.wanted, world.row.desired]).toEqual([true, 'running']);
    await world.look();
    expect(world.row).toMatchObject({ desired: 'running', phase: 'Ready' });
    world.grant();
    expect(await world.look()).toEqual({ againInMs: 0 });
    expect(world.row).toMatchObject({ desired: 'suspended', phase: 'Suspended', reason: 'NewRevision' });
    await world.look();
    expect([world.platform.suspended, world.platform.wanted]).toEqual([true, true]);
    world.catchUp();
    expect(await world.look()).toEqual({ againInMs: 0 });
    expect(world.row.desired).toBe('running');
    await world.look();
    world.catchUp();
    await world.look();
    expect(world.row).toMatchObject({ desired: 'running', phase: 'Ready', instance_id: '2', reason: '' });
    expect([world.platform.wanted, world.seen.rollouts, world.seen.suspensions]).toEqual([false, 1, 0]);
  });

  it.each([
    ['a turn waits', (world: World) => world.message(), (world: World) => world.answer()],
    [
      'it works',
      (world: World) => void (world.platform.busy = true),
      (world: World) => void (world.platform.busy = false),
    ],
  ])('waits while %s, and lets others go first', async (_what, begin, end) => {
    const world = await released();
    await world.look();
    world.grant();
    await begin(world);
    await world.look();
    expect([world.row.desired, world.platform.wanted]).toEqual(['running', false]);
    world.grant();
    end(world);
    await world.look();
    expect([world.row.desired, world.platform.wanted, world.platform.granted]).toEqual(['running', true, false]);
  });

  it('gives way to a message that comes before it is in place', async () => {
    const world = await released();
    await world.look();
    world.grant();
    await world.look();
    await world.look();
    await world.message();
    await world.look();
    expect([world.row.desired, world.platform.suspended]).toEqual(['running', false]);
    world.catchUp();
    await world.look();
    world.answer();
    expect(world.seen.turns).toBe(0);
  });

  it('is put in place by whoever suspends the runtime, which then stays suspended', async () => {
    const world = await released();
    await world.look();
    world.pass(IDLE_MS);
    await world.look();
    expect(world.row).toMatchObject({ desired: 'suspended', reason: '' });
    await world.look();
    world.catchUp();
    await world.look();
    expect([world.platform.wanted, world.row.desired, world.seen.rollouts]).toEqual([false, 'suspended', 0]);
  });

  it('is not forgotten while the platform cannot be reached', async () => {
    const world = await released();
    await world.look();
    world.grant();
    await world.look();
    await world.look();
    world.platform.reachable = false;
    await world.look();
    world.catchUp();
    world.platform.reachable = true;
    await world.look();
    expect(world.row.desired).toBe('running');
  });
});

describe('while the platform cannot be reached', () => {
  it('a runtime that answers stays Ready', async () => {
    const world = createWorld();
    await world.look();
    world.platform.reachable = false;
    await world.look();
    expect(world.row).toMatchObject({ phase: 'Ready', reason: '', address: ADDRESS, failures: 0 });
    expect(world.seen.ensureFailures).toEqual(['unreachable']);
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
    release: (world) => world.release(),
    grant: (world) => world.grant(),
    work: (world) => void (world.platform.busy = true),
    rest: (world) => void (world.platform.busy = false),
  };
  const step = fc.oneof(
    fc.constantFrom(...Object.keys(steps)).map((name) => ({ name })),
    fc.record({
      name: fc.constant('look'),
      interruptedBy: fc.constantFrom('message', 'catchUp', 'hold', 'grant', 'release'),
      after: fc.nat(6),
    }),
  );

  it('no message is left behind, a new revision gets its place, and what is idle ends up suspended', async () => {
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
        Object.assign(world.platform, { held: false, reachable: true, busy: false });
        await world.message();
        for (let round = 0; round < 6; round += 1) {
          world.pass(5_000);
          await world.lookIfDue();
          world.catchUp();
        }
        expect(world.row).toMatchObject({ desired: 'running', phase: 'Ready' });
        world.answer();
        expect(world.seen.turns).toBe(0);
        for (let round = 0; round < 8; round += 1) {
          world.pass(5_000);
          await world.lookIfDue();
          world.grant();
          world.catchUp();
        }
        expect([world.platform.pending, world.row.desired, world.row.phase]).toEqual([false, 'running', 'Ready']);
        world.pass(IDLE_MS);
        for (let round = 0; round < 4; round += 1) await world.lookIfDue();
        expect(world.row).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
        expect(world.platform.suspended).toBe(true);
        // From then on it costs nothing.
        world.catchUp();
        await world.lookIfDue();
        world.pass(24 * 3_600_000);
        expect(await world.lookIfDue()).toBe(false);
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
