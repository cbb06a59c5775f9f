import { randomBytes, randomUUID } from 'node:crypto';
import type { MessageData } from '@uswarm/contract';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { silentLogger } from '@uswarm/service-kit';
import { createWebSearch } from '@uswarm/searxng-client';
import { describeWith } from '@uswarm/testkit';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type ControlledSearch, startControlledSearch } from '../test/search.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { modelSettings } from '../test/model-settings.js';
import { startSearchPart } from './search-part.js';

const LABEL = 'Tool calls for earlier messages';

describeWith('searxng', 'a question about an earlier search', () => {
  let search: ControlledSearch;
  let tools: Awaited<ReturnType<typeof startSearchPart>>;
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  /** The newest user message in each model call. */
  let asked: string[] = [];

  beforeAll(async () => {
    search = await startControlledSearch();
    const signingKey = `test:${randomBytes(32).toString('hex')}`;
    const webSearch = createWebSearch({ endpoint: search.searxng.endpoint });
    tools = await startSearchPart({ search: webSearch, signingKey, proxy: DIRECT, logger: silentLogger });
    model = await startModelServer({
      script: ({ messages }) => {
        const question = String(messages.findLast(({ role }) => role === 'user')?.content ?? '');
        asked.push(question);
        return question.endsWith('Search for llamas') && messages.at(-1)?.role !== 'tool'
          ? [{ toolCalls: [{ name: 'web_search_tool', arguments: { query: 'llamas' } }] }]
          : [{ text: 'Done.' }];
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SVC_MCP_ENDPOINT: tools.mcpEndpoint,
      SVC_MCP_SIGNING_KEY: signingKey,
      SUMMARY_WORKERS: '0',
    });
  });
  beforeEach(async () => {
    client?.close();
    asked = [];
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
    await tools?.close();
    await search?.close();
  });

  /** Sends a message, and waits for the answer. */
  async function ask(text: string): Promise<{ question: string; reply: MessageData }> {
    const { answer } = await client.ask(text);
    return { question: asked.at(-1) ?? '', reply: answer };
  }

  it('tells the model tool, arguments and sources of the search, in their order', async () => {
    expect((await ask('Search for llamas')).question).not.toContain(LABEL);
    const { question } = await ask('And what was the second result?');
    const [first, second] = search.results;
    expect(question).toContain(LABEL);
    expect(question).toContain('- web_search_tool {"query":"llamas"}');
    const positions = [first!, second!].map(({ title, url }, index) =>
      question.indexOf(`${index + 1}. ${title} ${url}`),
    );
    expect(Math.min(...positions)).toBeGreaterThan(0);
    expect(question).toMatch(
      /<untrusted id="\w+" source="tool_calls">[^]*<\/context>\n\nAnd what was the second result\?$/,
    );
  });

  it('tells the model nothing of a reply that the user has deleted', async () => {
    const { reply } = await ask('Search for llamas');
    await client.api('DELETE', `/v1/workspaces/${client.workspaceId}/messages/${reply.id}`);
    expect((await ask('And what was the second result?')).question).not.toContain('web_search_tool');
  });
});
