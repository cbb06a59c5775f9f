import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { setBanned } from '../records/users.store.js';
import { isStopRequested } from './turns.store.js';

describe('the turns of a banned user', () => {
  const world = useTurnFixture();

  const queued = async () => {
    const body = { content: { type: 'text', text: 'why?' } };
    await world.user.post<{ data: MessageData }>(world.home.messages, body, 201);
    return world.turnWorker.claim();
  };
  const ban = async () => {
    const { id } = await world.uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', world.user.email)
      .executeTakeFirstOrThrow();
    await setBanned(world.uswarm.database, id, true);
  };

  it('are stopped while they run', async () => {
    const work = await queued();
    await (await world.turnWorker.writerOf(work)).begin();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(false);
    await ban();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(true);
  });

  it('are recognized when they are claimed, and before the call to the runtime', async () => {
    const work = await queued();
    await ban();
    expect((await world.turnWorker.turnOf(work)).user_banned).toBe(true);
    // The ban happened after the turn was read and before it begins.
    await (await world.turnWorker.writerOf(work)).begin();
    expect(await isStopRequested(world.turnWorker.stores.database, work.subjectId)).toBe(true);
  });

  it('are recognized in the transaction that begins them in a runtime', async () => {
    const work = await queued();
    await ban();
    const writer = await world.turnWorker.writerOf(work);
    const begun = await writer.begin({ instance: { id: 'i', budgeted: false }, untrusted: [] });
    expect(begun.stopRequested).toBe(true);
  });
});
