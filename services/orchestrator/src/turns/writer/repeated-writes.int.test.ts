import { describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { createWithTransaction } from '../../platform/database/transaction.js';

describe('the turn writer', () => {
  const world = useTurnFixture();
  const messages = async (): Promise<MessageData[]> =>
    (await world.user.get<MessagePage>(`${world.home.messages}?direction=forward`)).body.data;
  const claim = async () => {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'why?' } }, 201);
    return world.turnWorker.claim();
  };

  it('stores a failed reply once although the transaction that fails the turn is repeated', async () => {
    const work = await claim();
    let attempts = 0;
    const withTransaction = createWithTransaction(world.uswarm.database);
    const writer = await world.turnWorker.writerOf(work, {
      withTransaction: (run) =>
        withTransaction(async (tx) => {
          const result = await run(tx);
          attempts += 1;
          if (attempts === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
          return result;
        }),
    });
    await writer.abandon('internal_error', 'Sorry.');
    const failed = (await messages()).filter(({ role }) => role === 'agent');
    expect(failed).toMatchObject([{ extended_status: 'failed', content: { text: 'Sorry.' } }]);
    expect(await world.turnWorker.turnOf(work)).toMatchObject({ reply_message_id: failed[0]?.id });
  });

  it('appends entries in their order, also if several writes wait for the next transaction', async () => {
    const work = await claim();
    const writer = await world.turnWorker.writerOf(work);
    await writer.begin();
    const verdicts: string[] = [];
    const entry = (number: number) => ({ number, kind: 'step' as const, body: '{}' });
    const append = (number: number): void =>
      writer.entryLater(1, entry(number), ({ verdict }) => void verdicts.push(verdict));
    writer.markRead();
    append(1);
    append(2);
    verdicts.push((await writer.entry(1, entry(3))).verdict);
    expect(verdicts).toEqual(['new', 'new', 'new']);
  });
});
