import { MAX_RESULT_BYTES } from '@uswarm/mcp-client';
import { silentLogger } from '@uswarm/service-kit';
import { type McpAnswer, startMcpServer } from '@uswarm/testkit/mcp-server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createMcpTools, type McpDeps } from './mcp.js';

const NEVER = new AbortController().signal;
const TOKEN = 'token';

describe('tools of an MCP server', () => {
  let cleanup = new AsyncDisposableStack();
  const accepted = new Set([TOKEN, 'token-a', 'token-b']);
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(answer: (query: string) => Promise<McpAnswer> | McpAnswer, deps: Partial<McpDeps> = {}) {
    const server = await startMcpServer({ tool: 'echo_tool', token: accepted, answer });
    const toolServer = createMcpTools({
      endpoint: server.endpoint,
      version: '0',
      logger: silentLogger,
      ...deps,
    });
    cleanup.defer(server.close);
    cleanup.defer(() => toolServer.close());
    return { server, toolServer, tools: toolServer.forTurn(() => TOKEN) };
  }

  it('are listed once, without tools that a model cannot call', async () => {
    const { tools, server } = await setUp(() => ({ text: '' }));
    const list = await tools.list(NEVER);
    expect(list).toEqual([
      {
        type: 'function',
        name: 'echo_tool',
        description: 'Answers.',
        inputSchema: expect.objectContaining({ type: 'object', required: ['query'] }),
      },
      expect.objectContaining({ name: 'asking_tool' }),
    ]);
    const before = server.requests();
    expect(await tools.list(NEVER)).toEqual(list);
    expect(server.requests()).toBe(before);
  });

  it('return their structured content as cleaned JSON', async () => {
    const { tools } = await setUp(() => ({
      text: 'ignored',
      structured: { results: [{ title: '\u202Ellamas', url: 'https://a.example/?a=1&b=2' }] },
    }));
    expect(await tools.call('echo_tool', { query: 'llamas' }, NEVER)).toEqual({
      text: '{"results":[{"title":"llamas","url":"https://a.example/?a=1&b=2"}]}',
      failed: false,
    });
  });

  it('return their text, cleaned and truncated, if they have no structured content', async () => {
    const { tools } = await setUp(() => ({ text: `\u200B${'x'.repeat(MAX_RESULT_BYTES + 10)}` }));
    const { text, failed } = await tools.call('echo_tool', { query: '' }, NEVER);
    expect(failed).toBe(false);
    expect(text).toBe(`${'x'.repeat(MAX_RESULT_BYTES)}\n[cut: the result was longer than ${MAX_RESULT_BYTES} bytes]`);
  });

  it('fail with the message of the tool', async () => {
    const sentence = 'web_search_tool: searxng endpoint is not configured';
    const { tools } = await setUp(() => ({ text: sentence, isError: true }));
    expect(await tools.call('echo_tool', { query: '' }, NEVER)).toEqual({ text: sentence, failed: true });
  });

  it('report invalid arguments', async () => {
    const { tools } = await setUp(() => ({ text: 'unreached' }));
    expect(await tools.call('echo_tool', { query: 5 }, NEVER)).toEqual({
      text: expect.stringContaining('query'),
      failed: true,
    });
  });

  it('fail with a message if they exceed the timeout', async () => {
    const { tools } = await setUp(() => new Promise<McpAnswer>(() => undefined), { callTimeoutMs: 100 });
    expect(await tools.call('echo_tool', { query: '' }, NEVER)).toEqual({
      text: 'echo_tool: the tool server did not respond in time. It is not known whether the tool did it.',
      failed: true,
    });
  });

  it('throw the reason of the signal if the turn is aborted', async () => {
    const called = Promise.withResolvers<void>();
    const { tools } = await setUp(() => {
      called.resolve();
      return new Promise<McpAnswer>(() => undefined);
    });
    const controller = new AbortController();
    const call = tools.call('echo_tool', { query: '' }, controller.signal);
    await called.promise;
    controller.abort(new Error('stopped'));
    await expect(call).rejects.toThrow('stopped');
  });

  it('fail with a message if the server rejects the token', async () => {
    const { toolServer } = await setUp(() => ({ text: '' }));
    const tools = toolServer.forTurn(() => 'wrong');
    await expect(tools.list(NEVER)).rejects.toThrow('The tool server rejected the token of this turn.');
    expect((await tools.call('echo_tool', { query: '' }, NEVER)).failed).toBe(true);
  });

  it('are called with the token of their turn, also by concurrent turns', async () => {
    const waiting = Promise.withResolvers<void>();
    let calls = 0;
    const { toolServer, server } = await setUp(async () => {
      calls += 1;
      if (calls === 2) waiting.resolve();
      await waiting.promise;
      return { text: '' };
    });
    const [a, b] = [toolServer.forTurn(() => 'token-a'), toolServer.forTurn(() => 'token-b')];
    await a.list(NEVER);
    expect(new Set(server.shown())).toEqual(new Set(['token-a']));
    const before = server.requests();
    await Promise.all([a.call('echo_tool', { query: '' }, NEVER), b.call('echo_tool', { query: '' }, NEVER)]);
    expect(server.shown().slice(before).toSorted()).toEqual(['token-a', 'token-b']);
  });

  it('are called with a renewed token over the same connection', async () => {
    const { toolServer, server } = await setUp(() => ({ text: 'found' }));
    let token = 'token-a';
    const tools = toolServer.forTurn(() => token);
    await tools.list(NEVER);
    token = 'token-b';
    const before = server.requests();
    expect(await tools.call('echo_tool', { query: '' }, NEVER)).toEqual({ text: 'found', failed: false });
    expect(server.shown().slice(before)).toEqual(['token-b']);
  });

  it('are called with the token of the process if the turn has none', async () => {
    const { toolServer, server } = await setUp(() => ({ text: '' }), { token: 'token-a' });
    await toolServer.forTurn(() => undefined).list(NEVER);
    await toolServer.forTurn(() => 'token-b').call('echo_tool', { query: '' }, NEVER);
    expect({ first: server.shown()[0], last: server.shown().at(-1) }).toEqual({ first: 'token-a', last: 'token-b' });
  });

  it('are available again after the server recovers', async () => {
    const { tools, server } = await setUp(() => ({ text: 'first' }));
    expect(await tools.call('echo_tool', { query: '' }, NEVER)).toEqual({ text: 'first', failed: false });
    await server.close();
    // A call over a connection that has just been closed may have been received.
    const failures = [];
    for (let calls = 0; calls < 5; calls += 1) failures.push(await tools.call('echo_tool', { query: '' }, NEVER));
    expect(failures.every(({ failed }) => failed)).toBe(true);
    expect(failures.at(-1)?.text).toBe('echo_tool: the tool server could not be reached.');
    await expect(tools.list(NEVER)).rejects.toThrow('The tool server could not be reached.');
    const again = await startMcpServer({
      tool: 'echo_tool',
      token: TOKEN,
      answer: () => ({ text: 'second' }),
      port: server.port,
    });
    cleanup.defer(again.close);
    expect(await tools.list(NEVER)).toEqual([expect.objectContaining({ name: 'echo_tool' }), expect.anything()]);
    expect(await tools.call('echo_tool', { query: '' }, NEVER)).toEqual({ text: 'second', failed: false });
  });
});
