import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LIMITS, type MessageData } from '@uswarm/contract';
import { sql } from 'kysely';
import { recordStatements } from '../../test/recorded-statements.js';
import { createStores } from '../../test/stores.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { createWithStatement, createWithTransaction } from '../platform/database/transaction.js';
import { createUserMessages, type UserMessagesDeps } from './user-messages.js';
import { insertUnlocked, type UserMessage } from './user-messages.store.js';

const SECOND = 1_000;
const text = (value: string) => ({ content: { type: 'text', text: value } });

interface Member {
  user: TestUser;
  home: Home;
  userId: string;
}

describe('sends that arrive together', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const member = async (): Promise<Member> => {
    const user = await uswarm.user();
    return { user, home: await uswarm.home(user), userId: await uswarm.idOf(user) };
  };
  const send = async ({ user, home }: Member, body: object = text('hi')) =>
    (await user.post<{ data: MessageData }>(home.messages, body, 201)).body.data;
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * SECOND);
  const messageTo = ({ home, userId }: Member, more: Partial<UserMessage> = {}): UserMessage => ({
    workspaceId: home.workspaceId,
    conversationId: home.conversationId,
    userId,
    agentIds: [home.agents[0]?.id ?? ''],
    text: 'hi',
    bodyHash: Buffer.alloc(32),
    ...more,
  });
  const insert = async (messages: readonly UserMessage[], deadline = inSeconds(60)) => {
    const items = messages.map((message) => ({ message, deadline }));
    return (await insertUnlocked(uswarm.database, items)).map((stored) => stored?.row.seq);
  };
  const storesTogether = (more: Partial<UserMessagesDeps> = {}) => {
    const { events } = createStores(uswarm.database);
    const deps = { withStatement: createWithStatement(uswarm.database), events, notifyTurns: () => undefined, ...more };
    return createUserMessages(deps as UserMessagesDeps).storeTogether;
  };
  /** @returns a function that releases the lock */
  async function lockWorkspace({ home }: Member): Promise<() => Promise<void>> {
    const locked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const holding = uswarm.database.transaction().execute(async (tx) => {
      await sql`SELECT FROM workspaces WHERE id = ${home.workspaceId} FOR UPDATE`.execute(tx);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    return async () => {
      released.resolve();
      await holding;
    };
  }
  /** A message's rows, without ids and times. */
  async function rowsOf(messageId: string) {
    const ignored = sql`ARRAY['id', 'seq', 'content', 'body_hash', 'local_id', 'workspace_id', 'conversation_id', 'agent_id', 'sender_id', 'user_message_id',
      'subject_id', 'serial_key', 'ordinal', 'fair_key', 'created_at', 'updated_at', 'run_at', 'published_at']`;
    const { rows } = await sql<Record<string, unknown>>`
      SELECT to_jsonb(m) - ${ignored} AS message, to_jsonb(e) - ${ignored} AS event, to_jsonb(t) - ${ignored} AS turn,
        to_jsonb(j) - ${ignored} AS job, to_jsonb(c) - ${ignored} AS conversation,
        e.seq = m.seq AND j.ordinal = m.seq AS same_seq, j.serial_key = m.conversation_id AS serial_key, j.fair_key = m.sender_id AS fair_key,
        t.agent_id = (SELECT id FROM agents a WHERE a.workspace_id = m.workspace_id AND kind = 'manager') AS manager,
        m.created_at = m.updated_at AND c.updated_at = m.created_at AS same_time,
        (SELECT array_agg(key ORDER BY key) FROM jsonb_object_keys(m.content) key) AS content
      FROM messages m
      JOIN workspace_events e ON e.subject_id = m.id
      JOIN turns t ON t.user_message_id = m.id
      JOIN work j ON j.subject_id = t.id
      JOIN conversations c ON c.id = m.conversation_id
      WHERE m.id = ${messageId}`.execute(uswarm.database);
    return rows;
  }

  it('store the same rows and return the same message as a send with its own transaction', async () => {
    const [grouped, alone] = [await member(), await member()];
    const recording = recordStatements();
    const first = await send(grouped, { local_id: 'a', ...text('Hello there') });
    recording.stop();
    const sends = recording.statements.filter(({ text: statement }) => statement.startsWith('WITH sends'));
    expect(sends.map(({ text: statement }) => statement.includes('SKIP LOCKED'))).toEqual([true]);
    const release = await lockWorkspace(alone);
    const sending = send(alone, { local_id: 'a', ...text('Hello there') });
    await release();
    const second = await sending;
    const rows = await rowsOf(first.id);
    expect(rows).toHaveLength(1);
    expect(rows).toEqual(await rowsOf(second.id));
    const ids = { id: '', conversation_id: '', created_at: '', updated_at: '' };
    expect({ ...first, ...ids }).toEqual({ ...second, ...ids });
    const path = ({ home }: Member, { id }: MessageData) => `${home.workspace}/messages/${id}`;
    const read = await grouped.user.get<{ data: MessageData }>(path(grouped, first));
    expect(read.body.data).toMatchObject({ ...first, status: 'delivered' });
  });

  it('share statements, and each workspace has its messages without a gap', async () => {
    const members = await Promise.all(Array.from({ length: 8 }, member));
    const recording = recordStatements();
    const sent = await Promise.all(
      members.flatMap((one) => Array.from({ length: 5 }, (_, n) => send(one, text(`${n}`)))),
    );
    recording.stop();
    const groups = recording.statements.filter(({ text: statement }) => statement.startsWith('WITH sends'));
    expect(groups.length).toBeGreaterThan(0);
    expect(groups.length).toBeLessThan(sent.length);
    for (const { home } of members) {
      const { rows } = await sql<{ seq: number; messages: number }>`
        SELECT e.seq, (SELECT count(*) FROM messages m WHERE m.seq = e.seq AND m.workspace_id = e.workspace_id) AS messages
        FROM workspace_events e WHERE workspace_id = ${home.workspaceId} AND type = 'message.new' ORDER BY seq`.execute(
        uswarm.database,
      );
      const start = rows[0]?.seq ?? 0;
      expect(rows).toEqual(Array.from({ length: 5 }, (_, n) => ({ seq: start + n, messages: 1 })));
    }
  });

  it('do not wait for a workspace that is locked', async () => {
    const [locked, free] = [await member(), await member()];
    const release = await lockWorkspace(locked);
    let stored = false;
    const waiting = send(locked).then(() => (stored = true));
    await Promise.all([send(free), send(free)]);
    expect(stored).toBe(false);
    await release();
    await waiting;
  });

  it('do not store a message whose user, runtime, conversation, deadline or local_id does not allow it', async () => {
    const [mine, other] = [await member(), await member()];
    await send(mine, { local_id: 'used', ...text('hi') });
    await sql`INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash)
      VALUES (${mine.home.workspaceId}, ${mine.userId}, sha256('spent'))`.execute(uswarm.database);
    const suspended = await member();
    await sql`UPDATE runtimes SET desired = 'suspended' WHERE workspace_id = ${suspended.home.workspaceId}`.execute(
      uswarm.database,
    );
    const stored = await insert([
      messageTo(mine, { userId: other.userId }),
      messageTo(mine, { conversationId: other.home.conversationId }),
      messageTo(mine, { localId: 'used' }),
      messageTo(mine, { localId: 'spent' }),
      messageTo(mine, { localId: 'new' }),
      messageTo(mine, { localId: 'new' }),
      messageTo(suspended),
    ]);
    expect(stored.map((seq) => seq !== undefined)).toEqual([false, false, false, false, true, false, false]);
    expect(await insert([messageTo(mine)], inSeconds(-1))).toEqual([undefined]);
  });

  it('are not stored while a card of the conversation waits for a decision', async () => {
    const mine = await member();
    const { id: card } = await send(mine);
    await sql`
      INSERT INTO tool_approvals (card_message_id, turn_id, conversation_id, call_id, tool, arguments_hash, expires_at)
      SELECT ${card}, id, conversation_id, 'call', 'tool', sha256(''), now() + interval '1 hour' FROM turns WHERE user_message_id = ${card}`.execute(
      uswarm.database,
    );
    expect(await insert([messageTo(mine)])).toEqual([undefined]);
  });

  it('fill the queue of a conversation up to its limit', async () => {
    const mine = await member();
    const stored = await insert(Array.from({ length: LIMITS.queuedTurns + 3 }, () => messageTo(mine)));
    expect(stored.filter((seq) => seq !== undefined)).toHaveLength(LIMITS.queuedTurns);
    expect(await insert([messageTo(mine)])).toEqual([undefined]);
  });

  it('give each message its own transaction if one of them fails', async () => {
    const mine = await member();
    const store = storesTogether();
    // The first one is a group; the others wait for it.
    const all = [{}, {}, { agentIds: [randomUUID()] }].map((more) => store(messageTo(mine, more), inSeconds(60)));
    const [first, ...others] = await Promise.all(all);
    expect(first?.content).toEqual({ type: 'text', text: 'hi' });
    expect(others).toEqual([undefined, undefined]);
  });

  it('fail if the connection ends, because they may be stored', async () => {
    const store = storesTogether({ withStatement: () => Promise.reject(new Error('Connection terminated')) });
    await expect(store(messageTo(await member()), inSeconds(60))).rejects.toThrow('Connection terminated');
  });

  it('have no gap and no deadlock with transactions of the same workspaces on several replicas', async () => {
    const members = await Promise.all(Array.from({ length: 4 }, member));
    const { events } = createStores(uswarm.database);
    const withTransaction = createWithTransaction(uswarm.database);
    const groups = Array.from({ length: 12 }, (_, n) =>
      insert(members.map((_one, index) => messageTo(members[(index + n) % members.length]!))),
    );
    const transactions = Array.from({ length: 12 }, (_, n) =>
      withTransaction((tx) => {
        const { workspaceId, conversationId } = members[n % members.length]!.home;
        return events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
      }),
    );
    await Promise.all([...groups, ...transactions]);
    for (const { home } of members) {
      const { rows } = await sql<{ seq: number }>`
        SELECT seq FROM workspace_events WHERE workspace_id = ${home.workspaceId} ORDER BY seq`.execute(
        uswarm.database,
      );
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, n) => n + 1));
    }
  });
});
