import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parseSigningKey, signMcpToken } from '@uswarm/service-kit';
import { undocumented } from '@uswarm/testkit';
import { answerJson, row, startFakeSearxng } from '../test/fake-searxng.js';
import { runProgram, startProgram } from '../test/run-program.js';

const SVC_MCP_SIGNING_KEY = `k1:${'s'.repeat(32)}`;
const env = { SVC_MCP_SIGNING_KEY, HTTP_PORT: '0', OPS_PORT: '0' };

describe('the search tool', () => {
  it('TOOL-005: queries --searxng-endpoint, counts searches, and stops on SIGTERM', async () => {
    await using searxng = await startFakeSearxng(answerJson({ results: [row('tea')] }));
    const service = startProgram('main.ts', ['--searxng-endpoint', searxng.endpoint], env);
    const exit = once(service, 'exit');
    try {
      const [line] = (await once(createInterface(service.stdout), 'line')) as [string];
      const { port, ops_port } = JSON.parse(line) as { port: number; ops_port: number };
      const turn = { workspaceId: 'w1', agentId: 'a', turnId: 't' };
      const token = await signMcpToken(parseSigningKey(SVC_MCP_SIGNING_KEY), turn, { query: 'tea' });
      const client = new Client({ name: 'test', version: '1' });
      const url = new URL(`http://127.0.0.1:${port}/mcp`);
      await client.connect(new StreamableHTTPClientTransport(url, { authProvider: { token: async () => token } }));
      const result = await client.callTool({ name: 'web_search_tool', arguments: { query: 'tea' } });
      expect(result.structuredContent).toMatchObject({ status: 'ok' });
      await client.close();
      const metrics = await (await fetch(`http://127.0.0.1:${ops_port}/metrics`)).text();
      expect(metrics).toContain('uswarm_searches_total{status="ok",component="searxng-client"} 1');
      expect(undocumented('searxng-client', metrics)).toEqual([]);
    } finally {
      service.kill('SIGTERM');
    }
    expect(await exit).toEqual([0, null]);
  });

  it('exits with an error if the signing key is missing', async () => {
    const { code, stdout } = await runProgram('main.ts', [], {});
    expect(code).toBe(1);
    expect(stdout).toContain('SVC_MCP_SIGNING_KEY is not set');
  });
});
