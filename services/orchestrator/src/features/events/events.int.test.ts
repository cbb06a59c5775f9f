import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { insertWorkspaces } from '../../../test/bulk-data.js';
import { first } from '../../../test/test-orchestrator.js';
import { createEventStore, type EventStore } from './events.store.js';

describe('the sequence of a workspace', () => {
  let db: MigratedDatabase;
  let store: EventStore;
  beforeAll(async () => {
    db = await createMigratedDatabase(25);
    store = createEventStore(db.database);
  });
  afterAll(() => db.close());

  const workspace = async () => first(await insertWorkspaces(db.database, 1));
  const event = (workspaceId: string) => ({
    workspaceId,
    type: 'message.new' as const,
    subjectId: crypto.randomUUID(),
  });
  const seqs = async (workspaceId: string) => {
    const rows = await db.database
      .selectFrom('workspace_events')
      .select('seq')
      .where('workspace_id', '=', workspaceId)
      .orderBy('seq')
      .execute();
    return rows.map(({ seq }) => seq);
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

  it('has no gaps under twenty concurrent writers', async () => {
    const id = await workspace();
    const write = async () => {
      for (let n = 0; n < 10; n += 1) await db.withTransaction((tx) => store.append(event(id), tx));
    };
    await Promise.all(Array.from({ length: 20 }, write));
    expect(await seqs(id)).toEqual(upTo(200));
  });

  it('is released when its transaction fails', async () => {
    const id = await workspace();
    const failing = db.withTransaction(async (tx) => {
      await store.append(event(id), tx);
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(await db.withTransaction((tx) => store.append(event(id), tx))).toBe(1);
  });

  it('follows the order of commits: a reader of an event sees all earlier events', async () => {
    const id = await workspace();
    const writers = Array.from({ length: 20 }, () =>
      db.withTransaction(async (tx) => {
        await store.append(event(id), tx);
        // Keeps the transaction open for a random time.
        await sql`SELECT pg_sleep(random() / 100)`.execute(tx);
      }),
    );
    let written = false;
    const all = Promise.all(writers).finally(() => {
      written = true;
    });
    const looks: number[][] = [];
    while (!written) looks.push(await seqs(id));
    await all;
    expect(looks.filter((look) => look.length > 0).map((look) => look.at(-1))).toEqual(
      looks.filter((look) => look.length > 0).map((look) => look.length),
    );
    expect(await seqs(id)).toEqual(upTo(20));
  });

  it('is separate per workspace', async () => {
    const [one, other] = [await workspace(), await workspace()];
    for (const id of [one, other, one]) await db.withTransaction((tx) => store.append(event(id), tx));
    expect({ one: await seqs(one), other: await seqs(other) }).toEqual({ one: [1, 2], other: [1] });
  });

  it('cannot be allocated in a deleted workspace', async () => {
    await expect(db.withTransaction((tx) => store.append(event(crypto.randomUUID()), tx))).rejects.toThrow(
      'Workspace not found.',
    );
  });
});
