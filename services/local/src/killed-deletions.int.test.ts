import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { shareByTier } from '@uswarm/testkit/tier';
import { type RealtimeCluster, startRealtimeCluster } from '../test/realtime/cluster.js';
import { FoldingClient, signUp } from '../test/realtime/folding-client.js';
import { RestClient } from '../test/realtime/rest-client.js';
import { differencesFromSnapshot } from '../test/realtime/judge.js';

/** A deletion batch has 2,000. */
const MESSAGES = 2_500;

interface Moment {
  name: string;
  /** Locks rows that the deletion needs at this moment. */
  lock: (ids: Deleted) => string;
  /** The statement that waits for them. */
  statement: RegExp;
}
interface Deleted {
  workspaceId: string;
  conversationId: string;
}

const message = (seq: number) => (ids: Deleted) =>
  `SELECT FROM messages WHERE conversation_id = '${ids.conversationId}' AND seq = ${seq} FOR UPDATE`;
const lockConversation = ({ conversationId }: Deleted): string =>
  `SELECT FROM conversations WHERE id = '${conversationId}' FOR UPDATE`;
const DELETE_MESSAGES = /delete from "?messages/i;

const MOMENTS: Record<'conversation' | 'workspace', Moment[]> = {
  conversation: [
    { name: 'in the first batch of messages', lock: message(MESSAGES), statement: DELETE_MESSAGES },
    { name: 'in the last batch of messages', lock: message(1), statement: DELETE_MESSAGES },
    {
      name: 'after all messages',
      lock: lockConversation,
      statement: /delete from "?conversations/i,
    },
  ],
  workspace: [
    { name: 'in the first batch of messages', lock: message(1), statement: DELETE_MESSAGES },
    { name: 'in the last batch of messages', lock: message(MESSAGES), statement: DELETE_MESSAGES },
    {
      name: 'after all messages',
      lock: lockConversation,
      statement: /delete from "?workspaces/i,
    },
  ],
};

describeWith('valkey', 'a deletion with many messages, seen by two devices at two gateways,', () => {
  let cluster: RealtimeCluster;
  let devices: FoldingClient[] = [];
  let ids: Deleted;
  /** Ends the test's lock. */
  let unlock: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    cluster = await startRealtimeCluster(Math.random);
  });
  afterAll(() => cluster?.close());
  beforeEach(async () => {
    const token = await cluster.newToken();
    await signUp(cluster, token);
    const rest = new RestClient({ urls: cluster.restUrls, token, first: 0 });
    // The user keeps the first workspace.
    const { body } = await rest.request('POST', '/v1/workspaces', { name: 'Another' });
    const workspaceId = (body as { data: { id: string } }).data.id;
    const created = await rest.request('POST', `/v1/workspaces/${workspaceId}/conversations`, { type: 'swarm' });
    ids = { workspaceId, conversationId: (created.body as { data: { id: string } }).data.id };
    // Before any device connects, so that none has a position in the workspace.
    await cluster.query('DELETE FROM workspace_events WHERE workspace_id = $1', [workspaceId]);
    await cluster.query(
      `INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
       SELECT gen_random_uuid(), $1, $2, n, 'user', '{"type": "text", "text": "x"}', 'sent'
       FROM generate_series(1, ${MESSAGES}) n`,
      [workspaceId, ids.conversationId],
    );
    await cluster.query('UPDATE workspaces SET last_seq = $2 WHERE id = $1', [workspaceId, MESSAGES]);
    await cluster.query(
      `UPDATE conversations SET updated_at = (SELECT max(created_at) FROM messages WHERE conversation_id = $1) WHERE id = $1`,
      [ids.conversationId],
    );
    devices = [0, 1].map((number) => new FoldingClient(cluster, token, number));
    await Promise.all(devices.map((device) => device.join()));
  });
  afterEach(async () => {
    await release();
    await Promise.all(devices.map((device) => device.close()));
    await cluster.heal();
  });

  async function release(): Promise<void> {
    await unlock?.();
    unlock = undefined;
  }
  const pathOf = (kind: keyof typeof MOMENTS): string =>
    `/v1/workspaces/${ids.workspaceId}${kind === 'workspace' ? '' : `/conversations/${ids.conversationId}`}`;
  /** A request to the first orchestrator only. @returns the status, or undefined without a response */
  const remove = (kind: keyof typeof MOMENTS): Promise<number | undefined> =>
    fetch(`${cluster.restUrls[0]}${pathOf(kind)}`, {
      method: 'DELETE',
      headers: { 'x-token': devices[0]!.token },
    }).then(
      ({ status }) => status,
      () => undefined,
    );
  const shownMessages = (): (number | undefined)[] =>
    devices.map(({ known }) => {
      const workspace = known.get(ids.workspaceId);
      return workspace?.conversations.has(ids.conversationId) === true ? workspace.messages.size : undefined;
    });
  const storedMessages = async (): Promise<number> => {
    const sql = 'SELECT count(*)::int AS count FROM messages WHERE conversation_id = $1';
    return (await cluster.query<{ count: number }>(sql, [ids.conversationId]))[0]!.count;
  };
  /** No statement from the killed process runs any more. */
  const untilRolledBack = () =>
    eventually(
      () =>
        cluster.query(
          `SELECT query FROM pg_stat_activity
           WHERE datname = current_database() AND xact_start IS NOT NULL AND query ~* 'delete from'
             AND pid <> pg_backend_pid()`,
        ),
      { until: ({ length }) => length === 0 },
    );

  const KINDS = ['conversation', 'workspace'] as const;
  describe.each(KINDS)('of a %s', (kind) => {
    it.each(shareByTier(MOMENTS[kind], KINDS.indexOf(kind), KINDS.length))(
      'has no effect if the orchestrator is killed $name, and is complete everywhere after a repetition',
      async ({ lock, statement }) => {
        unlock = await cluster.locks.lock(lock(ids));
        const answered = remove(kind);
        await cluster.locks.untilBlocked(statement);
        await cluster.orchestrators[0]!.kill();
        expect(await answered).toBeUndefined();
        await release();
        await untilRolledBack();
        await cluster.orchestrators[0]!.start();
        expect(await storedMessages()).toBe(MESSAGES);
        expect(shownMessages()).toEqual([MESSAGES, MESSAGES]);
        // An event that is not about the deletion can be in flight.
        await eventually(() => differencesFromSnapshot(cluster, devices), { until: ({ length }) => length === 0 });

        expect(await remove(kind)).toBe(204);
        await eventually(shownMessages, { until: (shown) => shown.every((count) => count === undefined) });
        expect(await storedMessages()).toBe(0);
        await eventually(() => differencesFromSnapshot(cluster, devices), { until: ({ length }) => length === 0 });
      },
    );

    it('reaches all devices if the orchestrator is killed after the commit and before it tells them', async () => {
      // Only the orchestrators cannot reach Valkey.
      const buses = cluster.busProxies.slice(2);
      for (const bus of buses) bus.cut();
      expect(await remove(kind)).toBe(204);
      for (const orchestrator of cluster.orchestrators) await orchestrator.kill();
      for (const bus of buses) bus.heal();
      expect(shownMessages()).toEqual([MESSAGES, MESSAGES]);
      for (const orchestrator of cluster.orchestrators) await orchestrator.start();
      await eventually(shownMessages, { until: (shown) => shown.every((count) => count === undefined) });
      await eventually(() => differencesFromSnapshot(cluster, devices), { until: ({ length }) => length === 0 });
    });
  });
});
