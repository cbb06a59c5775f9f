import { describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import { CHARGED_CALL } from '../../../test/charged-call.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { OfferedContent } from '../content/agent-content-schema.js';
import { MAX_ENTRY_BYTES, listEntries } from './journal.store.js';
import type { EntryParts } from './turn-entries.js';
import { LeaseLost } from '../commit.js';

const CARD: OfferedContent = {
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [{ id: 'a', label: 'This', style: 'primary' }],
};
const DONE = { turnStatus: 'done', messageStatus: 'delivered', text: 'Because.', errorCode: null } as const;

describe('the journal of a turn', () => {
  const world = useTurnFixture();

  const begin = async () => {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'why?' } }, 201);
    const job = await world.turnWorker.claim();
    const turn = await world.turnWorker.turnOf(job);
    const writer = await world.turnWorker.writerOf(job);
    await writer.begin();
    const entries = () => listEntries(world.turnWorker.stores.database, job.subjectId);
    return { job, turn, writer, entries };
  };
  const step = (number: number, body = `{"step":${number}}`) => ({ number, kind: 'step', body }) as const;
  const large = (number: number, size: number) =>
    ({ number, kind: 'result', objectId: crypto.randomUUID(), hash: Buffer.alloc(32), size }) as const;

  it('keeps entries in their order, and stores an entry once', async () => {
    const { writer, entries } = await begin();
    const result = { number: 2, kind: 'result', body: '{}' } as const;
    const verdicts: string[] = [];
    for (const entry of [step(1), result, step(1, '"changed"')]) verdicts.push((await writer.entry(1, entry)).verdict);
    expect(verdicts).toEqual(['new', 'new', 'known']);
    expect(await entries()).toEqual([step(1), result]);
  });

  it('invariant 1: refuses an entry after a gap', async () => {
    const { writer, entries } = await begin();
    expect((await writer.entry(1, step(2))).verdict).toBe('refused');
    await writer.entry(1, step(1));
    expect((await writer.entry(1, step(3))).verdict).toBe('refused');
    expect(await entries()).toEqual([step(1)]);
  });

  it('invariant 1: is written only under the lease', async () => {
    const { job, entries } = await begin();
    const other = await world.turnWorker.writerOf({ ...job, leaseId: '00000000-0000-7000-8000-000000000000' });
    await expect(other.entry(1, step(1))).rejects.toThrow(LeaseLost);
    await expect(other.judge(1, { number: 1, size: 1 })).rejects.toThrow(LeaseLost);
    expect(await entries()).toEqual([]);
  });

  it('invariant 1: is written only for the current generation', async () => {
    const { writer, entries } = await begin();
    await writer.nextGeneration(2);
    await expect(writer.entry(1, step(1))).rejects.toThrow(LeaseLost);
    await expect(writer.judge(1, { number: 1, size: 1 })).rejects.toThrow(LeaseLost);
    expect((await writer.entry(2, step(1))).verdict).toBe('new');
    expect(await entries()).toEqual([step(1)]);
  });

  it('refuses entries above the limit of the journal, wherever their bodies are', async () => {
    const { writer, entries } = await begin();
    const most = Math.floor(MAX_TURN_JOURNAL_BYTES / MAX_ENTRY_BYTES);
    for (let number = 1; number <= most; number += 1) await writer.entry(1, large(number, MAX_ENTRY_BYTES));
    expect(await writer.judge(1, { number: most + 1, size: MAX_ENTRY_BYTES })).toBe('refused');
    const rest = MAX_TURN_JOURNAL_BYTES - most * MAX_ENTRY_BYTES;
    expect((await writer.entry(1, large(most + 1, rest))).verdict).toBe('new');
    expect((await writer.entry(1, step(most + 2, 'x'))).verdict).toBe('refused');
    expect(await entries()).toHaveLength(most + 1);
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

  it('is kept after the end of the turn, without its context and the outcomes of its calls', async () => {
    const { job, writer, entries } = await begin();
    await writer.entry(1, step(1));
    await writer.call({ id: 'c', tool: 't', description: '', stoppable: true }, async () => ({
      text: '',
      failed: false,
    }));
    await writer.finish(DONE);
    expect(await entries()).toEqual([step(1)]);
    const { database } = world.uswarm;
    const rest = await database
      .selectFrom('tool_calls')
      .select('turn_id')
      .where('turn_id', '=', job.subjectId)
      .execute();
    expect(rest).toEqual([]);
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

  describe('with what an entry produces', () => {
    const parts = (turn: { id: string; user_id: string; workspace_id: string }): EntryParts => ({
      usage: {
        ...CHARGED_CALL,
        turnId: turn.id,
        step: 1,
        userId: turn.user_id,
        workspaceId: turn.workspace_id,
        provider: 'demo',
        model: 'demo',
        promptTokens: 7,
        completionTokens: 3,
        cachedTokens: 0,
        reasoningTokens: 0,
        estimated: false,
      },
      tool: { callId: 'c', content: { type: 'tool_status', tool: 't', description: 'Using t', state: 'completed' } },
      message: { key: 'card', content: CARD },
      call: { tool: 't', arguments: '{}', failed: false, sources: [{ title: 'A', address: 'https://a.example/' }] },
    });

    async function stored(turnId: string) {
      const { database } = world.uswarm;
      const entries = await listEntries(world.turnWorker.stores.database, turnId);
      const usage = await database.selectFrom('usage_entries').select('step').where('turn_id', '=', turnId).execute();
      const messages = await database
        .selectFrom('messages')
        .select('turn_key')
        .where('turn_id', '=', turnId)
        .where('turn_key', 'is not', null)
        .orderBy('turn_key')
        .execute();
      const { seq } = await database
        .selectFrom('workspace_events')
        .select(({ fn }) => fn.max('seq').as('seq'))
        .where('workspace_id', '=', world.home.workspaceId)
        .executeTakeFirstOrThrow();
      return {
        entries: entries.length,
        usage: usage.length,
        messages: messages.map(({ turn_key }) => turn_key),
        seq,
      };
    }

    /** Ends the writer's connection while it waits to write, as killing its process does. */
    async function killAtWriteTo(table: string, write: () => Promise<unknown>): Promise<void> {
      await world.uswarm.database.transaction().execute(async (tx) => {
        await sql`LOCK TABLE ${sql.table(table)} IN EXCLUSIVE MODE`.execute(tx);
        let outcome: string | undefined;
        void write().then(
          () => (outcome = 'written'),
          () => (outcome = 'killed'),
        );
        const kill = sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE ${`%${table}%`}`;
        // Uses another connection: a transaction always sees the activity at its first query.
        await eventually(() => kill.execute(world.uswarm.database), { until: () => outcome !== undefined });
        expect(outcome).toBe('killed');
      });
    }

    it('invariant 2: is committed once, also if the entry is repeated', async () => {
      const { turn, writer } = await begin();
      const before = await stored(turn.id);
      const appended = await writer.entry(1, { ...step(1), ...parts(turn) });
      const after = await stored(turn.id);
      expect(after).toEqual({
        entries: 1,
        usage: 1,
        messages: ['message:card', 'tool:c'],
        seq: before.seq + 2,
      });
      expect(appended).toMatchObject({ verdict: 'new', seq: after.seq });
      expect(await writer.entry(1, { ...step(1), ...parts(turn) })).toMatchObject({ verdict: 'known' });
      expect(await stored(turn.id)).toEqual(after);
    });

    it.each(['messages', 'workspace_events', 'usage_entries', 'turn_entries'])(
      'invariant 2: leaves nothing if the process is killed before the write to %s ends',
      async (table) => {
        const { turn, job, writer } = await begin();
        const before = await stored(turn.id);
        await killAtWriteTo(table, () => writer.entry(1, { ...step(1), ...parts(turn) }));
        expect(await stored(turn.id)).toEqual(before);
        // The next process repeats the entry.
        await (await world.turnWorker.writerOf(job)).entry(1, { ...step(1), ...parts(turn) });
        expect(await stored(turn.id)).toEqual({
          entries: 1,
          usage: 1,
          messages: ['message:card', 'tool:c'],
          seq: before.seq + 2,
        });
      },
    );

    it('invariant 2: is not stored with an entry that is refused', async () => {
      const { turn, writer } = await begin();
      const before = await stored(turn.id);
      await writer.entry(1, { ...step(2), ...parts(turn) });
      expect(await stored(turn.id)).toEqual(before);
    });
  });
});
