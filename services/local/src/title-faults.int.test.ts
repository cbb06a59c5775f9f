import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Conversation } from '@uswarm/contract';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { KILLED, type SeparateServices, startSeparateServices } from '../test/separate.js';

describe('a model call after a turn, for the title', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let requests = 0;

  beforeAll(async () => {
    model = await startModelServer({
      script: (_request, index) => {
        requests += 1;
        if (requests === 1) return [{ text: 'Green tea.' }];
        return [...(requests === 2 ? [{ hold: `title-${index}` }] : []), { text: 'All about tea' }];
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
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  it.each(KILLED)(
    'invariant 8: is repeated and counted twice if a process is killed meanwhile, and leaves no job: %s',
    async (killed) => {
      const hold = `title-${model.requests.length + 1}`;
      await client.send('What do you know about tea, and which one should I drink in the morning?');
      await model.reached(hold);
      await services.kill(killed, client.workspaceId);
      model.release(hold);
      await services.recover(killed);
      const path = `/v1/workspaces/${client.workspaceId}/conversations`;
      const title = async () => ((await client.api('GET', path)).body as { data: Conversation[] }).data[0]?.title;
      expect(await eventually(title, { until: (found) => found === 'All about tea' })).toBe('All about tea');
      const jobs = () =>
        services.query(`SELECT kind FROM work WHERE workspace_id = $1 AND kind IN ('turn', 'title', 'summary')`, [
          client.workspaceId,
        ]);
      expect(await eventually(jobs, { until: ({ length }) => length === 0 })).toEqual([]);
      const usage = await services.query<{ reserved: boolean; prompt: number; completion: number }>(
        `SELECT reserved, prompt_tokens::int AS prompt, completion_tokens::int AS completion FROM usage_entries
       WHERE workspace_id = $1 AND kind = 'title' ORDER BY created_at`,
        [client.workspaceId],
      );
      // The estimate of the lost call, and what the model reported for the other one.
      expect(usage).toMatchObject([{ reserved: true }, { reserved: false }]);
      expect(usage[0]!.prompt).toBeGreaterThanOrEqual(usage[1]!.prompt);
      expect(usage[0]!.completion).toBeGreaterThanOrEqual(usage[1]!.completion);
    },
  );
});
