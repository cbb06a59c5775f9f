import { describe, expect, it } from '@jest/globals';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { OfferedContent } from './agent-content-schema.js';
import { MAX_ENTRY_BYTES, MAX_JOURNAL_BYTES } from './journal.store.js';
import { LeaseLost } from './turn-writer.js';

const CARD: OfferedContent = {
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [{ id: 'a', label: 'This', style: 'primary' }],
};

describe('the journal of a turn', () => {
  const world = useTurnFixture();

  /** Begins the turn of a new message. */
  const begin = async () => {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'why?' } }, 201);
    const job = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(job);
    await writer.begin();
    const entries = () => world.turnWorker.stores.journal.entries(job.subjectId);
    return { job, writer, entries };
  };
  const step = (number: number, body = `{"step":${number}}`) => ({ number, kind: 'step', body }) as const;

  it('keeps entries in their order, and stores an entry once', async () => {
    const { writer, entries } = await begin();
    const result = { number: 2, kind: 'result', body: '{}' } as const;
    for (const entry of [step(1), result, step(1, '"changed"')]) expect(await writer.entry(1, entry)).toBe(true);
    expect(await entries()).toEqual([step(1), result]);
  });

  it('refuses an entry after a gap, and entries above the limit of the journal', async () => {
    const { writer, entries } = await begin();
    expect(await writer.entry(1, step(2))).toBe(false);
    const full = MAX_JOURNAL_BYTES / MAX_ENTRY_BYTES;
    for (let number = 1; number <= full; number += 1) {
      expect(await writer.entry(1, step(number, 'x'.repeat(MAX_ENTRY_BYTES)))).toBe(true);
    }
    expect(await writer.entry(1, step(full + 1, 'x'))).toBe(false);
    expect(await entries()).toHaveLength(full);
  });

  it('is written only under the lease', async () => {
    const { job, entries } = await begin();
    const other = await world.turnWorker.writerOf({ ...job, leaseId: '00000000-0000-7000-8000-000000000000' });
    await expect(other.entry(1, step(1))).rejects.toThrow(LeaseLost);
    expect(await entries()).toEqual([]);
  });

  it('allows another generation after each one that made progress', async () => {
    const { writer } = await begin();
    const generations: (number | undefined)[] = [];
    for (const progress of [true, true, false, false]) {
      const generation = generations.length + 1;
      if (progress) await writer.entry(generation, step(generation));
      generations.push(await writer.nextGeneration(2));
    }
    expect(generations).toEqual([2, 3, 4, undefined]);
  });

  it('does not count a wait for the model provider as a lost generation', async () => {
    const { job, writer } = await begin();
    await writer.nextGeneration(2);
    await writer.postpone(60_000);
    const turn = await world.turnWorker.turnOf(job);
    expect({ generation: turn.generation, instance: turn.runtime_instance }).toEqual({ generation: 3, instance: null });
    expect(turn.waits_until).toBeInstanceOf(Date);
    expect([await writer.nextGeneration(2), await writer.nextGeneration(2)]).toEqual([4, undefined]);
  });

  it('keeps the cards of a lost turn', async () => {
    const { writer } = await begin();
    await writer.entry(1, step(1));
    await writer.offer('card', CARD);
    await writer.nextGeneration(2);
    expect(await cardStatus()).toEqual(['delivered']);
  });

  it('is deleted with the end of the turn', async () => {
    const { writer, entries } = await begin();
    await writer.entry(1, step(1));
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null });
    expect(await entries()).toEqual([]);
  });

  const cardStatus = async (): Promise<string[]> => {
    const rows = await world.uswarm.database
      .selectFrom('messages')
      .select('status')
      .where('workspace_id', '=', world.home.workspaceId)
      .where('turn_key', '=', 'message:card')
      .execute();
    return rows.map(({ status }) => status);
  };
});
