import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer, request as sendRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { NewApiToken, Workspace } from '@uswarm/contract';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';

const ANSWER = 'one two three';
const SUITE = path.resolve(import.meta.dirname, '../node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** With the checks that fail, because they call tools, prompts or resources of the suite's own server; the other scenarios have no other checks. */
const SCENARIOS: Record<string, readonly string[]> = {
  'server-initialize': [],
  'server-session-lifecycle': [],
  'server-stateless': [
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
  ],
  ping: [],
  'tools-list': [],
  'server-sse-polling': [],
  'server-sse-multiple-streams': [],
  'dns-rebinding-protection': [],
  caching: [
    'sep-2549-prompts-list-caching-hints',
    'sep-2549-resources-list-caching-hints',
    'sep-2549-resources-templates-list-caching-hints',
  ],
  'http-header-validation': [],
  'sep-2164-resource-not-found': [],
};

describe('the MCP door', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let user: TestClient;
  let url: string;
  const clients: Client[] = [];
  beforeAll(async () => {
    model = await startModelServer({ script: () => words(ANSWER) });
    local = await runLocalMode(modelSettings(model));
    url = `${local.url}/v1/mcp`;
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    user = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  });
  afterAll(async () => {
    for (const client of clients) await client.close();
    user?.close();
    await local?.stop();
    await model?.close();
  });

  async function tokenFor(limits: { scopes?: string[]; workspace_ids?: string[] } = {}): Promise<string> {
    const { body } = await user.api('POST', '/v1/api-tokens', { name: 'Editor', scopes: ['write'], ...limits });
    return (body as { data: NewApiToken }).data.token;
  }
  /** With the client that the protocol's inspector uses. */
  async function connect(token: string): Promise<Client> {
    const client = new Client({ name: 'editor', version: '1.0.0' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    clients.push(client);
    return client;
  }
  const textOf = ({ content }: { content?: unknown }): string =>
    (content as { type: string; text: string }[]).map((block) => block.text).join('');

  it('has three tools, of which only the one that asks changes something', async () => {
    const { tools } = await (await connect(await tokenFor())).listTools();
    expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ['ask', false],
      ['conversations', true],
      ['artifact', true],
    ]);
  });

  it('answers with the text of the agents, which it reports as progress, and continues a conversation', async () => {
    const client = await connect(await tokenFor());
    const parts: string[] = [];
    const onprogress = ({ message = '' }: { message?: string | undefined }): void => void parts.push(message);
    const first = await client.callTool({ name: 'ask', arguments: { message: 'Count' } }, { onprogress });
    expect({ text: textOf(first), reported: parts.join('') }).toEqual({ text: ANSWER, reported: ANSWER });
    const { conversation_id: id } = first.structuredContent as { conversation_id: string };
    const again = { message: 'Again', conversation_id: id };
    const second = await client.callTool({ name: 'ask', arguments: again });
    expect(second.structuredContent).toMatchObject({ conversation_id: id, text: ANSWER });
    const listed = JSON.parse(textOf(await client.callTool({ name: 'conversations', arguments: {} }))) as object[];
    expect(listed).toEqual(expect.arrayContaining([expect.objectContaining({ id })]));
    expect(textOf(await client.callTool({ name: 'artifact', arguments: {} }))).toBe('[]');
  });

  it.each([
    ['an unknown conversation', { conversation_id: randomUUID() }, 'conversation_not_found'],
    ['an unknown agent', { agent: 'nobody' }, 'agent_not_found'],
    ['an unknown workspace', { workspace_id: randomUUID() }, 'workspace_not_found'],
  ])('returns the error for %s as a result that models read', async (_what, more, code) => {
    const client = await connect(await tokenFor());
    const result = await client.callTool({ name: 'ask', arguments: { message: 'Count', ...more } });
    expect({ isError: result.isError, code: textOf(result).split(':')[0] }).toEqual({ isError: true, code });
  });

  it('names what is wrong in a message', async () => {
    const client = await connect(await tokenFor());
    const result = await client.callTool({ name: 'ask', arguments: { message: '   ' } });
    expect(textOf(result)).toMatch(/^validation_failed: The request is not valid: \S+ \S/);
  });

  it('permits what the token permits', async () => {
    const reader = await connect(await tokenFor({ scopes: ['read'] }));
    const asked = await reader.callTool({ name: 'ask', arguments: { message: 'Count' } });
    expect(textOf(asked)).toContain('token_not_permitted');
    expect((await reader.callTool({ name: 'conversations', arguments: {} })).isError ?? false).toBe(false);
    const other = (await user.api('POST', '/v1/workspaces', { name: 'Other' })).body as { data: Workspace };
    const limited = await connect(await tokenFor({ workspace_ids: [other.data.id] }));
    const foreign = { workspace_id: user.workspaceId };
    expect(textOf(await limited.callTool({ name: 'conversations', arguments: foreign }))).toContain(
      'workspace_not_found',
    );
  });

  it('leads clients without a token to the servers that issue one', async () => {
    const refused = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    const [, metadata = ''] = /resource_metadata="(.+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({
      status: 401,
      body: { error: 'token_missing' },
    });
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: url,
      authorization_servers: [local.issuer],
    });
  });

  describe('in the conformance suite', () => {
    let withToken: Server;
    beforeAll(async () => {
      const token = await tokenFor();
      // The suite sends no token.
      withToken = createServer((request, response) => {
        const headers = { ...request.headers, authorization: `Bearer ${token}` };
        const passed = sendRequest(url, { method: request.method ?? 'GET', headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        });
        passed.on('error', () => response.destroy());
        response.on('close', () => passed.destroy());
        request.pipe(passed);
      });
      await new Promise<void>((resolve) => void withToken.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => void withToken?.close());

    it.each(Object.entries(SCENARIOS))('passes %s', async (scenario, failing) => {
      const target = `http://127.0.0.1:${(withToken.address() as AddressInfo).port}/mcp`;
      const args = [SUITE, 'server', '--url', target, '--scenario', scenario];
      const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
        execFile(process.execPath, args, { timeout: 60_000 }, (error, stdout, stderr) =>
          resolve({ code: error?.code ?? 0, output: stdout + stderr }),
        );
      });
      const failed = [...output.matchAll(/\[([\w-]+) *\] \S*FAILURE/g)].map(([, check]) => check);
      expect({ code, failed }).toEqual({ code: failing.length > 0 ? 1 : 0, failed: failing });
    });
  });
});
