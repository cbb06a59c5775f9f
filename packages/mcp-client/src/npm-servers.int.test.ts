import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type NpmServer, type NpmServerOptions, startNpmServer } from '@uswarm/testkit/npm-mcp-servers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createMcpConnections } from './connections.js';
import { toToolResult } from './tool-result.js';

const NEVER = new AbortController().signal;
const CALL_TIMEOUT_MS = 2_000;
const noToken = () => undefined;

describe('the MCP servers from npm', () => {
  let cleanup = new AsyncDisposableStack();
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(name: NpmServer, options?: NpmServerOptions) {
    let server = await startNpmServer(name, options);
    cleanup.defer(() => server.close());
    const connections = createMcpConnections({
      endpoint: server.url,
      client: { name: 'test-client', version: '1.2.3' },
      listTimeoutMs: 10_000,
      callTimeoutMs: CALL_TIMEOUT_MS,
      maxCallMs: 20_000,
    });
    cleanup.defer(() => connections.close());
    return {
      list: async () => (await connections.list(noToken, NEVER)).tools.map((tool) => tool.name),
      call: (tool: string, args: Record<string, unknown> = {}) =>
        connections.call(noToken, { name: tool, arguments: args }, NEVER),
      async restart() {
        await server.close();
        server = await startNpmServer(name, { ...options, port: server.port });
      },
    };
  }

  async function temporaryFolder(): Promise<string> {
    const folder = await mkdtemp(path.join(tmpdir(), 'mcp-client-'));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }

  it.each([
    { name: 'everything', tools: ['echo', 'get-sum', 'get-tiny-image', 'trigger-long-running-operation'] },
    { name: 'filesystem', tools: ['read_text_file', 'write_file', 'list_directory', 'move_file'] },
    { name: 'memory', tools: ['create_entities', 'create_relations', 'search_nodes', 'open_nodes'] },
  ] as const)('list their tools: $name', async ({ name, tools }) => {
    const { list } = await setUp(name);
    expect(await list()).toEqual(expect.arrayContaining([...tools]));
  });

  it('return text, images, links and structured content', async () => {
    const { call } = await setUp('everything');
    const results = {
      echo: await call('echo', { message: 'word' }),
      sum: await call('get-sum', { a: 2, b: 3 }),
      image: await call('get-tiny-image'),
      annotated: await call('get-annotated-message', { messageType: 'error', includeImage: true }),
      links: await call('get-resource-links', { count: 2 }),
      structured: await call('get-structured-content', { location: 'Chicago' }),
    };
    const image = { type: 'image', mediaType: 'image/png', data: expect.stringMatching(/^iVBOR/) };
    expect(toToolResult(results.echo)).toEqual({ text: 'Echo: word', failed: false });
    expect(toToolResult(results.sum)).toEqual({ text: 'The sum of 2 and 3 is 5.', failed: false });
    expect(toToolResult(results.image)).toMatchObject({ failed: false, parts: [{ type: 'text' }, image, {}] });
    expect(toToolResult(results.annotated)).toMatchObject({
      failed: false,
      parts: [{ type: 'text', text: 'Error: Operation failed' }, image],
    });
    expect(toToolResult(results.links).parts?.slice(1)).toEqual([
      { type: 'link', uri: 'demo://resource/dynamic/blob/1', name: 'Blob Resource 1' },
      { type: 'link', uri: 'demo://resource/dynamic/text/2', name: 'Text Resource 2' },
    ]);
    const { structuredContent } = results.structured;
    expect(structuredContent).toEqual({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 });
    expect(toToolResult(results.structured)).toEqual({ text: JSON.stringify(structuredContent), failed: false });
  });

  it('fail with a message if the arguments are invalid', async () => {
    const { call } = await setUp('everything');
    const result = toToolResult(await call('get-sum', { a: 'two', b: 3 }));
    expect(result).toEqual({ text: expect.stringContaining('expected number, received string'), failed: true });
  });

  it('may take longer than a call without progress if they send progress', async () => {
    const { call } = await setUp('everything');
    const seconds = (1.5 * CALL_TIMEOUT_MS) / 1_000;
    const operation = (steps: number) => call('trigger-long-running-operation', { duration: seconds, steps });
    const [steady, silent] = await Promise.allSettled([operation(6), operation(1)]);
    expect(steady).toMatchObject({ status: 'fulfilled', value: { content: [{ type: 'text' }] } });
    expect(silent).toMatchObject({ reason: { message: 'did not respond in time', outcomeUnknown: true } });
  });

  it('write and read files in their folder, and refuse paths outside it', async () => {
    const folder = await temporaryFolder();
    const outside = path.join(await temporaryFolder(), 'outside.txt');
    const { call } = await setUp('filesystem', { folder });
    const file = path.join(folder, 'note.txt');
    await call('write_file', { path: file, content: 'Ünïcode\n' });
    expect(await readFile(file, 'utf8')).toBe('Ünïcode\n');
    expect((await call('read_text_file', { path: file })).structuredContent).toEqual({ content: 'Ünïcode\n' });
    for (const [tool, args] of [
      ['read_text_file', { path: outside }],
      ['write_file', { path: outside, content: 'x' }],
    ] as const) {
      const result = await call(tool, args);
      expect(result.isError).toBe(true);
      expect(toToolResult(result)).toEqual({
        text: expect.stringContaining('outside allowed directories'),
        failed: true,
      });
    }
    await expect(readFile(outside)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('find what they remember', async () => {
    const { call } = await setUp('memory');
    const ada = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] };
    const alan = { name: 'Alan', entityType: 'person', observations: ['broke codes'] };
    await call('create_entities', { entities: [ada, alan] });
    const { structuredContent } = await call('search_nodes', { query: 'program' });
    expect(structuredContent).toEqual({ entities: [ada], relations: [] });
  });

  // A server with its own sessions, and the bridge's.
  it.each([
    { name: 'everything', tool: 'echo', args: { message: 'word' }, status: 400 },
    { name: 'memory', tool: 'read_graph', args: {}, status: 404 },
  ] as const)('get a new session after a restart: $name, which answers $status', async (row) => {
    const { call, restart } = await setUp(row.name);
    const before = await call(row.tool, row.args);
    await restart();
    await expect(call(row.tool, row.args)).rejects.toMatchObject({
      status: row.status,
      disconnected: true,
      outcomeUnknown: false,
    });
    expect(await call(row.tool, row.args)).toEqual(before);
  });
});
