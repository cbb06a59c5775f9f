import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../test/database.js';
import { insertWorkspaces } from '../../test/bulk-data.js';
import { first } from '../../test/test-orchestrator.js';
import { createEventLog, type EventLog } from '../records/event-log.js';

describe('the sequence of a workspace', () => {
  let db: MigratedDatabase;
  let store: EventLog;
  beforeAll(async () => {
    db = await createMigratedDatabase(25);
    store = createEventLog(db.database);
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
  const messageOf = async (workspaceId: string) => {
    const id = crypto.randomUUID();
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
      SELECT ${id}::uuid, ${workspaceId}::uuid, id, 1, 'user', '{"type": "text", "text": "hi"}', 'sent' FROM conversations
      WHERE workspace_id = ${workspaceId} LIMIT 1`.execute(db.database);
    const row = () =>
      db.database.selectFrom('messages').select(['status', 'rev', 'shown_seq']).where('id', '=', id).executeTakeFirst();
    return { id, row };
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

  it('is that of the message that is added with its event, also under concurrent writers', async () => {
    const workspaceId = await workspace();
    const conversation = await db.database
      .selectFrom('conversations')
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow();
    const content = { type: 'text', text: 'hi' } as const;
    const place = { workspaceId, conversationId: conversation.id, role: 'agent', content, status: 'pending' } as const;
    const add = async () => {
      const id = crypto.randomUUID();
      return { id, seq: await db.withTransaction((tx) => store.addMessage({ id, ...place, beforeSeq: 7 }, tx)) };
    };
    const added = await Promise.all(upTo(20).map(add));
    added.sort((a, b) => a.seq - b.seq);
    expect(added.map(({ seq }) => seq)).toEqual(upTo(20));
    const events = await db.database
      .selectFrom('workspace_events as e')
      .innerJoin('messages as m', 'm.id', 'e.subject_id')
      .select(['e.type', 'e.subject_id as id', 'e.seq', 'm.seq as message_seq', 'm.rev', 'm.before_seq'])
      .where('e.workspace_id', '=', workspaceId)
      .orderBy('e.seq')
      .execute();
    const stored = added.map(({ id, seq }) => ({
      type: 'message.new',
      id,
      seq,
      message_seq: seq,
      rev: seq,
      before_seq: 7,
    }));
    expect(events).toEqual(stored);
    const revs = await db.database
      .selectFrom('conversations as c')
      .innerJoin('workspaces as w', 'w.id', 'c.workspace_id')
      .innerJoin('event_outbox as o', 'o.workspace_id', 'w.id')
      .select(['c.rev as conversation', 'w.rev as workspace', 'o.from_seq', 'o.upto_seq'])
      .where('c.id', '=', conversation.id)
      .execute();
    expect(revs).toEqual([{ conversation: 20, workspace: 20, from_seq: 1, upto_seq: 20 }]);
    await expect(
      db.withTransaction((tx) =>
        store.addMessage({ id: crypto.randomUUID(), ...place, workspaceId: crypto.randomUUID() }, tx),
      ),
    ).rejects.toThrow('Workspace not found.');
  });

  it('is taken by all events of a change of a message, which is shown by the first of them', async () => {
    const workspaceId = await workspace();
    const message = await messageOf(workspaceId);
    const types = ['message.updated', 'message.done'] as const;
    const change = { status: 'delivered', errorCode: null } as const;
    const changed = { workspaceId, id: message.id, change, isShown: true, types };
    expect(await db.withTransaction((tx) => store.changeMessage(changed, tx))).toEqual([1, 2]);
    expect(await message.row()).toEqual({ status: 'delivered', rev: 2, shown_seq: 1 });
    const events = await db.database
      .selectFrom('workspace_events')
      .select(['seq', 'type', 'subject_id'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('seq')
      .execute();
    expect(events).toEqual(types.map((type, index) => ({ seq: index + 1, type, subject_id: message.id })));
    const outbox = await db.database
      .selectFrom('event_outbox')
      .select(['from_seq', 'upto_seq'])
      .where('workspace_id', '=', workspaceId)
      .execute();
    expect(outbox).toEqual([{ from_seq: 1, upto_seq: 2 }]);
  });

  it('does not change if a message does not have one of the statuses that change', async () => {
    const workspaceId = await workspace();
    const message = await messageOf(workspaceId);
    const before = await message.row();
    const types = ['message.updated'] as const;
    const changed = { workspaceId, id: message.id, change: { status: 'read' }, from: ['delivered'], types } as const;
    expect(await db.withTransaction((tx) => store.changeMessage(changed, tx))).toBeUndefined();
    expect([await message.row(), await seqs(workspaceId)]).toEqual([before, []]);
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
