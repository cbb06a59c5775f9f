import { type McpServerOptions, startMcpServer } from '@uswarm/testkit/mcp-server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { testConnections } from '../test/test-connections.js';
import type { McpConnectionDeps } from './connections.js';
import { McpFailure } from './mcp-failure.js';

const NEVER = new AbortController().signal;
const TOKEN = 'token';
const token = () => TOKEN;

const toolOf = (name: string) => ({ name, inputSchema: { type: 'object' as const } });

/** A pattern that backtracks: an `!` after n letters takes 2ⁿ steps. */
const SLOW_OUTPUT = { type: 'object' as const, properties: { word: { type: 'string', pattern: '^(a+)+$' } } };
const SLOW_WORD = `${'a'.repeat(26)}!`;

describe('connections to an MCP server', () => {
  let cleanup = new AsyncDisposableStack();
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(options: Partial<McpServerOptions> = {}, deps: Partial<McpConnectionDeps> = {}) {
    const answer = (query: string) => ({ text: query });
    const server = await startMcpServer({ tool: 'echo_tool', token: TOKEN, answer, ...options });
    cleanup.defer(server.close);
    const connections = testConnections(server.endpoint, deps);
    cleanup.defer(() => connections.close());
    const call = (query: string) => connections.call(token, { name: 'echo_tool', arguments: { query } }, NEVER);
    return { server, connections, call };
  }

  it('list the tools of all pages in their order', async () => {
    const pages = new Map([
      [undefined, { tools: [toolOf('a'), toolOf('b')], nextCursor: 'second' }],
      ['second', { tools: [toolOf('c')], nextCursor: 'third' }],
      ['third', { tools: [toolOf('d')] }],
    ]);
    const { connections } = await setUp({ listPage: (cursor) => pages.get(cursor) ?? { tools: [] } });
    const { tools } = await connections.list(token, NEVER);
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('list no tools if the server repeats a cursor with other tools, and stop after 50 pages', async () => {
    let pages = 0;
    const listPage = () => ({ tools: [toolOf(`tool_${(pages += 1)}`)], nextCursor: 'again' });
    const { connections } = await setUp({ listPage });
    await expect(connections.list(token, NEVER)).rejects.toEqual(new McpFailure('lists too many tools', {}));
    expect(pages).toBe(50);
  });

  it('list no tools if there are more than 1,000, until the server lists fewer', async () => {
    let count = 1_001;
    const listPage = () => ({ tools: Array.from({ length: count }, (_, index) => toolOf(`tool_${index}`)) });
    const { connections } = await setUp({ listPage });
    await expect(connections.list(token, NEVER)).rejects.toThrow('lists too many tools');
    count = 1_000;
    expect((await connections.list(token, NEVER)).tools).toHaveLength(1_000);
  });

  it('do not run the regular expressions in an output schema', async () => {
    const listPage = () => ({ tools: [{ ...toolOf('echo_tool'), outputSchema: SLOW_OUTPUT }] });
    const { connections, call } = await setUp({ listPage, answer: (word) => ({ text: '', structured: { word } }) });
    await connections.list(token, NEVER);
    // A check would fail: the word does not match.
    expect((await call(SLOW_WORD)).structuredContent).toEqual({ word: SLOW_WORD });
  });

  it('send all requests with the given fetch, and read its responses', async () => {
    let limited = false;
    const sent: string[] = [];
    const { server, connections, call } = await setUp(
      {},
      {
        async fetch(url, init) {
          sent.push(String(url));
          return limited ? new Response(null, { status: 429, headers: { 'retry-after': '7' } }) : fetch(url, init);
        },
      },
    );
    await connections.list(token, NEVER);
    await call('word');
    expect(sent).toEqual(Array.from({ length: server.requests() }, () => server.endpoint));
    limited = true;
    await expect(call('word')).rejects.toMatchObject({
      message: 'is limiting requests; try again later',
      status: 429,
      retryAfterMs: 7_000,
      outcomeUnknown: false,
    });
  });

  it.each([
    [403, 'Bearer error="insufficient_scope", scope="read mail:send", error_description="x"', ['read', 'mail:send']],
    [401, 'Bearer error="insufficient_scope", scope="mail:send"', ['mail:send']],
    [403, 'Bearer error="insufficient_scope"', []],
    [403, `Bearer error="insufficient_scope", scope="ok ümlaut ${'x'.repeat(201)}"`, ['ok']],
    [403, 'Bearer error="invalid_token", scope="mail:send"', undefined],
    [403, undefined, undefined],
  ])('name the scopes that a rejected call needs: %i with %j', async (status, challenge, neededScopes) => {
    const { call } = await setUp({
      fault(query, response) {
        if (query !== 'send') return false;
        // Node.js writes headers as Latin-1.
        response.writeHead(status, challenge === undefined ? {} : { 'www-authenticate': challenge }).end();
        return true;
      },
    });
    await expect(call('send')).rejects.toMatchObject({ status, neededScopes, outcomeUnknown: false });
    expect((await call('word')).content).toEqual([{ type: 'text', text: 'word' }]);
  });

  it.each([{ sessions: false }, { sessions: true }])(
    'introduce the client by its name and version: %j',
    async (options) => {
      const bodies: string[] = [];
      const { call } = await setUp(options, {
        fetch(url, init) {
          if (typeof init?.body === 'string') bodies.push(init.body);
          return fetch(url, init);
        },
      });
      await call('word');
      expect(bodies[0]).toContain('{"name":"test-client","version":"1.2.3"}');
    },
  );

  it('fail if the server rejects the token of the request', async () => {
    const { connections } = await setUp();
    await expect(connections.list(() => 'wrong', NEVER)).rejects.toMatchObject({
      message: 'rejected the token',
      status: 401,
    });
    expect((await connections.list(token, NEVER)).tools).not.toEqual([]);
  });

  it('start a new session after the server answers with status 400 that it does not know the session', async () => {
    const sessions = new Set<string>();
    let restarted = false;
    const { call } = await setUp(
      { sessions: true },
      {
        async fetch(url, init) {
          const session = new Headers(init?.headers).get('mcp-session-id');
          if (session === null) return fetch(url, init);
          sessions.add(session);
          if (!restarted || sessions.size > 1) return fetch(url, init);
          const error = { code: -32_000, message: 'Bad Request: No valid session ID provided' };
          return Response.json({ jsonrpc: '2.0', error }, { status: 400 });
        },
      },
    );
    await call('before');
    restarted = true;
    await expect(call('lost')).rejects.toMatchObject({ status: 400, disconnected: true, outcomeUnknown: false });
    expect((await call('after')).content).toEqual([{ type: 'text', text: 'after' }]);
    expect(sessions.size).toBe(2);
  });

  describe.each([{ sessions: false }, { sessions: true }])('to a server whose list changes: %j', ({ sessions }) => {
    it('tell it if the server reports it on a stream that stays open', async () => {
      let changes = 0;
      const listChanged = () => void (changes += 1);
      const { server, connections } = await setUp({ sessions }, { listChanged, keepsStream: true });
      await connections.list(token, NEVER);
      // The stream opens after the list.
      const report = () => {
        server.reportChange();
        return changes;
      };
      expect(await eventually(report, { until: (count) => count > 0 })).toBeGreaterThan(0);
    });
  });

  it('tell that the list has changed if the server reports it with a call', async () => {
    let changes = 0;
    const answer: McpServerOptions['answer'] = async (query, _progress, reportChange) => {
      await reportChange();
      return { text: query };
    };
    const { call } = await setUp({ sessions: true, answer }, { listChanged: () => void (changes += 1) });
    await call('word');
    expect(changes).toBe(1);
  });

  it('keep no stream open for changes if they are not told to', async () => {
    const { server, connections, call } = await setUp({}, { listChanged: () => undefined });
    await connections.list(token, NEVER);
    await call('word');
    // To discover the version, to list, and to call.
    expect(server.requests()).toBe(3);
  });

  it('use the common token for requests without their own', async () => {
    const { connections } = await setUp({}, { token: TOKEN });
    expect((await connections.list(() => undefined, NEVER)).tools).not.toEqual([]);
  });
});
