import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation } from '@uswarm/contract';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { KILLED, type SeparateServices, startSeparateServices } from '../test/separate.js';

/** Messages that are not all sent whole: see `needsSummary`. */
const LONG = 830;

describe.each(['title', 'summary'] as const)('a model call after a turn, for the %s', (kind) => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let requests = 0;

  beforeAll(async () => {
    model = await startModelServer({
      script: (_request, index) => {
        requests += 1;
        if (requests === 1) return [{ text: 'Green tea.' }];
        return [...(requests === 2 ? [{ hold: `call-${index}` }] : []), { text: 'All about tea' }];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      WORK_LEASE_MS: '3000',
      SUMMARY_WORKERS: '1',
    });
  });
  beforeEach(async () => {
    requests = 0;
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    if (kind === 'summary') await talkForLong();
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  /** Fills the conversation, and gives it a title. */
  async function talkForLong(): Promise<void> {
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}`;
    const { status } = await client.api('PATCH', path, { title: 'Mine' });
    if (status !== 200) throw new Error(`the conversation was not renamed: ${status}`);
    await services.query(
      // The lock keeps other events from taking the same sequence numbers.
      `WITH place AS (
         UPDATE workspaces SET last_seq = last_seq + $3 WHERE id = $1 RETURNING id, owner_id, last_seq - $3 AS before
       ), talked AS (
         INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status, sender_id, agent_id)
         SELECT gen_random_uuid(), p.id, $2, p.before + n, CASE n % 2 WHEN 1 THEN 'user' ELSE 'agent' END,
           jsonb_build_object('type', 'text', 'text', 'Tea ' || n), 'delivered', CASE n % 2 WHEN 1 THEN p.owner_id END,
           CASE n % 2 WHEN 0 THEN (SELECT id FROM agents WHERE workspace_id = p.id ORDER BY sort_order LIMIT 1) END
         FROM place p CROSS JOIN generate_series(1, $3::int) n RETURNING workspace_id, seq, id
       )
       INSERT INTO workspace_events (workspace_id, seq, type, subject_id) SELECT workspace_id, seq, 'message.new', id FROM talked`,
      [client.workspaceId, client.conversationId, LONG],
    );
  }

  const written = async (): Promise<string | null | undefined> => {
    if (kind === 'title') {
      const path = `/v1/workspaces/${client.workspaceId}/conversations`;
      return ((await client.api('GET', path)).body as { data: Conversation[] }).data[0]?.title;
    }
    const sql = 'SELECT text FROM conversation_summaries WHERE conversation_id = $1';
    return (await services.query<{ text: string }>(sql, [client.conversationId]))[0]?.text;
  };

  it.each(KILLED)(
    'invariant 8: is repeated and counted twice if a process is killed meanwhile, and leaves no job: %s',
    async (killed) => {
      const hold = `call-${model.requests.length + 1}`;
      await client.send('What do you know about tea, and which one should I drink in the morning?');
      await model.reached(hold);
      await services.kill(killed, client.workspaceId);
      model.release(hold);
      await services.recover(killed);
      expect(await eventually(written, { until: (found) => found === 'All about tea' })).toBe('All about tea');
      const jobs = () =>
        services.query(`SELECT kind FROM work WHERE workspace_id = $1 AND kind IN ('turn', 'title', 'summary')`, [
          client.workspaceId,
        ]);
      expect(await eventually(jobs, { until: ({ length }) => length === 0 })).toEqual([]);
      const usage = await services.query<{ reserved: boolean; prompt: number; completion: number }>(
        `SELECT reserved, prompt_tokens::int AS prompt, completion_tokens::int AS completion FROM usage_entries
       WHERE workspace_id = $1 AND kind = $2 ORDER BY created_at`,
        [client.workspaceId, kind],
      );
      // The lost call's estimate, and the model's report for the other one.
      expect(usage).toMatchObject([{ reserved: true }, { reserved: false }]);
      expect(usage[0]!.prompt).toBeGreaterThanOrEqual(usage[1]!.prompt);
      expect(usage[0]!.completion).toBeGreaterThanOrEqual(usage[1]!.completion);
    },
  );
});
