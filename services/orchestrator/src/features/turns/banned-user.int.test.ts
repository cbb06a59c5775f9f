import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { createAdminStore } from '../admin/admin.store.js';
import { useTurnWorld } from '../../../test/turns.js';

describe('the turns of a user who was banned', () => {
  const world = useTurnWorld();

  const asked = async () => {
    const body = { content: { type: 'text', text: 'why?' } };
    await world.user.post<{ data: MessageData }>(world.home.messages, body, 201);
    return world.taker.claim();
  };
  const ban = async () => {
    const { id } = await world.uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', world.user.email)
      .executeTakeFirstOrThrow();
    await createAdminStore(world.uswarm.database).setBanned(id, true, world.uswarm.database);
  };

  it('are to be stopped while they are written', async () => {
    const work = await asked();
    await (await world.taker.writerOf(work)).begin();
    expect(await world.taker.stores.turns.stopRequested(work.subjectId)).toBe(false);
    await ban();
    expect(await world.taker.stores.turns.stopRequested(work.subjectId)).toBe(true);
  });

  it('are known as such when they are taken, and right before the runtime is asked', async () => {
    const work = await asked();
    await ban();
    expect((await world.taker.turnOf(work)).user_banned).toBe(true);
    // The ban came between the look at the turn and its begin.
    await (await world.taker.writerOf(work)).begin();
    expect(await world.taker.stores.turns.stopRequested(work.subjectId)).toBe(true);
  });
});
