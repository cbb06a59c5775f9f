import { describe, expect, it } from '@jest/globals';
import { createWorld, IDLE_MS } from '../../../test/runtime-harness.js';

describe('a runtime at which nothing is left to do', () => {
  const HOUR_MS = 3_600_000;

  it('is not looked at while it is suspended, however long', async () => {
    const world = createWorld();
    await world.look();
    world.pass(IDLE_MS);
    while (await world.lookIfDue()) world.catchUp();
    expect(world.row.phase).toBe('Suspended');
    const { writes } = world.seen;
    for (let round = 0; round < 100; round += 1) {
      world.pass(HOUR_MS);
      expect(await world.lookIfDue()).toBe(false);
    }
    expect(world.seen.writes).toBe(writes);
  });

  it('is looked at once in the idle limit while it is Ready and works, and nothing of its row is written', async () => {
    const world = createWorld();
    await world.look();
    world.platform.busy = true;
    const { writes } = world.seen;
    let looks = 0;
    for (let time = 0; time < 10 * IDLE_MS; time += IDLE_MS / 10) {
      world.pass(IDLE_MS / 10);
      if (await world.lookIfDue()) looks += 1;
    }
    expect(looks).toBe(10);
    expect(world.seen.writes).toBe(writes);
  });

  it('is looked at when it stops on the platform, and again when it is back', async () => {
    const world = createWorld();
    await world.look();
    expect(await world.lookIfDue()).toBe(false);
    world.platform.runs = false;
    expect(await world.lookIfDue()).toBe(true);
    expect(world.row).toMatchObject({ phase: 'Progressing', reason: 'Starting' });
    world.platform.runs = true;
    expect(await world.lookIfDue()).toBe(true);
    expect(world.row.phase).toBe('Ready');
  });

  it('rests also if the platform does not get it running for long', async () => {
    const world = createWorld();
    world.platform.runs = false;
    for (let second = 0; second < 300; second += 1) {
      world.pass(1_000);
      await world.lookIfDue();
    }
    const { writes } = world.seen;
    world.pass(HOUR_MS);
    expect([await world.lookIfDue(), world.seen.writes, world.row.reason]).toEqual([false, writes, 'Starting']);
  });

  it('is identified each ten seconds for the replicas of release 0.2 while it was there before the migration', async () => {
    const world = createWorld();
    await world.look();
    world.row.polled_until = new Date(world.now().getTime() + 30_000);
    const looks: { polled: boolean; identified: boolean }[] = [];
    for (let time = 0; time <= 40_000; time += 10_000) {
      const result = (await world.look()) as { againInMs: number };
      const identified = world.row.identified_at?.getTime() === world.now().getTime();
      looks.push({ polled: result.againInMs === 10_000, identified });
      world.pass(10_000);
    }
    expect(looks.map(({ polled }) => polled)).toEqual([true, true, true, false, false]);
    expect(looks.map(({ identified }) => identified)).toEqual([true, true, true, false, false]);
  });
});
