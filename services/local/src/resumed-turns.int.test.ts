import { randomBytes, randomUUID } from 'node:crypto';
import type { MessageData } from '@uswarm/contract';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { silentLogger } from '@uswarm/service-kit';
import { createWebSearch } from '@uswarm/searxng-client';
import { describeWith } from '@uswarm/testkit';
import { startTestClient, streamedText, type TestClient } from '@uswarm/testkit/test-client';
import { type ControlledSearch, startControlledSearch } from '../test/search.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { modelSettings } from '../test/model-settings.js';
import { startSearchPart } from './search-part.js';

/** Steps with a search; the runtime is killed after each. */
// One search, and the five that a turn may make after it.
const STEPS = 6;
const queryOf = (step: number): string => `fact ${step}`;
const textOf = ({ content }: MessageData): string => (content.type === 'text' ? content.text : '');

describeWith('searxng', 'a turn whose runtime is killed after each step', () => {
  let search: ControlledSearch;
  let tools: Awaited<ReturnType<typeof startSearchPart>>;
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  /** The number of results in each request to the model. */
  const asked: number[] = [];

  beforeAll(async () => {
    search = await startControlledSearch();
    const signingKey = `test:${randomBytes(32).toString('hex')}`;
    const webSearch = createWebSearch({ endpoint: search.searxng.endpoint });
    tools = await startSearchPart({ search: webSearch, signingKey, proxy: DIRECT, logger: silentLogger });
    model = await startModelServer({
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === 'tool').length;
        const isFirst = !asked.includes(results);
        asked.push(results);
        return [
          { text: `Part ${results}. ` },
          ...(results > 0 && isFirst ? [{ hold: `after-${results}` }] : []),
          ...(results < STEPS
            ? [{ toolCalls: [{ name: 'web_search_tool', arguments: { query: queryOf(results) } }] }]
            : [{ text: 'The end.' }]),
        ];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SVC_MCP_ENDPOINT: tools.mcpEndpoint,
      SVC_MCP_SIGNING_KEY: signingKey,
      SUMMARY_WORKERS: '0',
    });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    // Killed model calls count with their output limit, which exceeds a turn budget in the smallest plan.
    await services.query(`UPDATE users SET plan_code = 'pro'`);
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
    await tools?.close();
    await search?.close();
  });

  const killRuntime = async (): Promise<void> => killIfAlive(await services.runtimePid(client.workspaceId));

  it('completes it without a second call of the model or of a tool for a step that was stored', async () => {
    await client.send('Find ten facts');
    for (let step = 1; step <= STEPS; step += 1) {
      await model.reached(`after-${step}`);
      await killRuntime();
    }
    const done = await client.saw('message.done');
    const replyId = String(done.payload['message_id']);
    const updates = client.events.filter(({ name }) => name === 'message.updated');
    const messages = updates.map(({ payload }) => payload['message'] as MessageData);
    const answer = messages.findLast(({ id }) => id === replyId)!;

    const parts = Array.from({ length: STEPS + 1 }, (_, step) => `Part ${step}. `);
    expect(textOf(answer)).toBe(`${parts.join('')}The end.`);
    expect(streamedText(client.events, replyId)).toBe(textOf(answer));
    // Each call that was cut by a kill is repeated once; no other is.
    const steps = Array.from({ length: STEPS }, (_, step) => step);
    expect(asked).toEqual([0, ...steps.flatMap((step) => [step + 1, step + 1])]);
    expect(search.upstream.queries).toEqual(steps.map(queryOf));
    const turns = await services.query('SELECT status, generation FROM turns WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    expect(turns).toEqual([{ status: 'done', generation: STEPS + 1 }]);
    const entries = await services.query('SELECT kind, generation FROM turn_entries ORDER BY number');
    expect(entries).toEqual(
      steps.flatMap((step) => [
        { kind: 'step', generation: step + 1 },
        { kind: 'result', generation: step + 1 },
      ]),
    );
    // Each journal step has its model call's usage, and the repeated calls have further steps.
    const usage = await services.query<{ step: number }>('SELECT step FROM usage_entries ORDER BY step');
    expect(usage.map(({ step }) => step)).toEqual(usage.map((_, index) => index + 1));
    expect(usage.length).toBeGreaterThanOrEqual(STEPS + 1);
    const lines = await services.query(
      `SELECT content ->> 'state' AS state FROM messages WHERE turn_key LIKE 'tool:%'`,
    );
    expect(lines).toEqual(steps.map(() => ({ state: 'completed' })));
  });
});
