// Does what a conformance scenario asks its client. The suite starts it with the server's address.
import { createMcpConnections, type Tool } from '../src/index.js';

type Call = { name: string; arguments: Record<string, unknown> };

/** Calls by scenario; the others only list the tools. */
const CALLS: Record<string, (tools: readonly Tool[]) => readonly Call[]> = {
  tools_call: () => [{ name: 'add_numbers', arguments: { a: 2, b: 3 } }],
  'sse-retry': () => [{ name: 'test_reconnection', arguments: {} }],
  'http-standard-headers': (tools) => tools.map(({ name }) => ({ name, arguments: {} })),
  'http-custom-headers': () => (JSON.parse(context) as { toolCalls: Call[] }).toolCalls,
  // Calls each tool that the client has kept.
  'http-invalid-tool-headers': (tools) => tools.map(({ name }) => ({ name, arguments: { region: 'north' } })),
  'json-schema-2020-12-preservation'(tools) {
    const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
    return [{ name: 'json_schema_echo', arguments: { schema } }];
  },
};

const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const { signal } = new AbortController();
const noToken = () => undefined;
const connections = createMcpConnections({
  endpoint: process.argv[2] ?? '',
  client: { name: 'conformance-client', version: '1.0.0' },
  listTimeoutMs: 10_000,
  callTimeoutMs: 10_000,
  maxCallMs: 10_000,
});
const { tools } = await connections.list(noToken, signal);
for (const call of CALLS[scenario]?.(tools) ?? []) await connections.call(noToken, call, signal);
await connections.close();
