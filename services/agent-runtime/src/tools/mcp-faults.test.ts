import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '@uswarm/service-kit';
import { type McpServerOptions, startMcpServer } from '@uswarm/testkit/mcp-server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createMcpTools, type McpDeps } from './mcp.js';

const NEVER = new AbortController().signal;
const TOKEN = 'token';
const UNKNOWN = 'It is not known whether the tool did it.';

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

type Options = Partial<McpServerOptions>;

async function setUp({ answer = (query) => ({ text: query }), ...options }: Options, deps: Partial<McpDeps> = {}) {
  const server = await startMcpServer({ tool: 'echo_tool', token: TOKEN, answer, ...options });
  cleanup.defer(server.close);
  const toolServer = createMcpTools({ endpoint: server.endpoint, version: '0', logger: silentLogger, ...deps });
  cleanup.defer(() => toolServer.close());
  const source = toolServer.forTurn(() => TOKEN);
  const call = (query: string, signal = NEVER) => source.call('echo_tool', { query }, signal);
  return { server, toolServer, source, call };
}

/** Starts an event stream, as a server does before the tool ends, and cuts it. */
function cutStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': running\n\n', () => response.destroy());
}

/** Faults of a call; tells if the tool may have run. */
const faults: Record<string, (response: ServerResponse) => void> = {
  'a reset': (response) => void response.destroy(),
  'a cut event stream': cutStream,
  'an event stream that ends without a result': (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n'),
  'status 500': (response) => void response.writeHead(500).end(),
  'a response that is not JSON': (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"'),
};

describe('a failed call of an MCP tool', () => {
  it.each(Object.entries(faults))(
    'has an unknown outcome and leaves the other calls running after %s',
    async (_, fail) => {
      const running = Promise.withResolvers<void>();
      const failed = Promise.withResolvers<void>();
      const { call } = await setUp({
        answer: async (query) => {
          running.resolve();
          await failed.promise;
          return { text: query };
        },
        fault: (query, response) => {
          if (query === 'broken') fail(response);
          return query === 'broken';
        },
      });
      const others = [call('a'), call('b')];
      await running.promise;
      expect(await call('broken')).toEqual({ failed: true, text: expect.stringContaining(UNKNOWN) });
      failed.resolve();
      expect(await Promise.all(others)).toEqual([
        { text: 'a', failed: false },
        { text: 'b', failed: false },
      ]);
    },
  );

  it('has an unknown outcome and leaves the other calls running after a time-out', async () => {
    const timedOut = Promise.withResolvers<void>();
    const { call } = await setUp(
      {
        answer: async (query, progress) => {
          if (query === 'slow') return new Promise(() => undefined);
          const keepAlive = setInterval(() => void progress().catch(() => undefined), 20);
          await timedOut.promise;
          clearInterval(keepAlive);
          return { text: query };
        },
      },
      { callTimeoutMs: 1_000 },
    );
    const other = call('other');
    expect(await call('slow')).toEqual({
      text: `echo_tool: the tool server did not respond in time. ${UNKNOWN}`,
      failed: true,
    });
    timedOut.resolve();
    expect(await other).toEqual({ text: 'other', failed: false });
  });

  it('was not executed if the server limits requests, and is repeated up to three times', async () => {
    let limited = 0;
    const { call } = await setUp({
      fault: (query, response) => {
        if (query === 'never')
          return (limited += 1) > 0 && response.writeHead(429, { 'retry-after': '0' }).end() !== null;
        if (limited > 0) return false;
        limited += 1;
        response.writeHead(429, { 'retry-after': '0' }).end();
        return true;
      },
    });
    expect(await call('once')).toEqual({ text: 'once', failed: false });
    limited = 0;
    expect(await call('never')).toEqual({
      text: 'echo_tool: the tool server is limiting requests; try again later.',
      failed: true,
    });
    expect(limited).toBe(3);
  });

  it('is not repeated if the server asks to wait longer than 20 seconds', async () => {
    let limited = 0;
    const { call } = await setUp({
      fault: (_, response) => {
        limited += 1;
        response.writeHead(429, { 'retry-after': '3600' }).end();
        return true;
      },
    });
    expect((await call('x')).text).toContain('is limiting requests');
    expect(limited).toBe(1);
  });

  it('asks for input of the user, which is not supported', async () => {
    const { source } = await setUp({});
    expect(await source.call('asking_tool', {}, NEVER)).toEqual({
      text: 'asking_tool: the tool server asks for more input from the user, which is not supported.',
      failed: true,
    });
  });

  it('ends when the total time is over, also with progress', async () => {
    const { call } = await setUp(
      {
        answer: (_, progress) => {
          setInterval(() => void progress().catch(() => undefined), 20).unref();
          return new Promise(() => undefined);
        },
      },
      { maxCallMs: 300 },
    );
    expect((await call('endless')).text).toBe(`echo_tool: the tool server did not respond in time. ${UNKNOWN}`);
  });
});

describe('the list of the tools of an MCP server', () => {
  it.each<[string, (response: ServerResponse) => void, string]>([
    ['hangs', () => undefined, 'did not respond in time'],
    ['answers 500', (response) => void response.writeHead(500).end(), 'returned status 500'],
    ['breaks the connection', (response) => void response.destroy(), 'could not be reached'],
  ])('is missing if the server %s, and is read by the next turn', async (_fault, fail, reason) => {
    let failures = 1;
    const listFault = (response: ServerResponse): boolean => {
      if (failures === 0) return false;
      failures -= 1;
      fail(response);
      return true;
    };
    const { source, toolServer } = await setUp({ listFault }, { listTimeoutMs: 1_000 });
    await expect(source.list(NEVER)).rejects.toThrow(`The tool server ${reason}.`);
    const next = toolServer.forTurn(() => TOKEN);
    expect(await next.list(NEVER)).toContainEqual(expect.objectContaining({ name: 'echo_tool' }));
  });
});

describe('the connection to an MCP server', () => {
  it('is repeated if the connection is lost and the tool is declared as read-only', async () => {
    let calls = 0;
    const fault = (_query: string, response: ServerResponse): boolean => {
      calls += 1;
      if (calls === 1) response.destroy();
      return calls === 1;
    };
    const { source, call } = await setUp({ readOnly: true, fault });
    await source.list(NEVER);
    expect(await call('again')).toEqual({ text: 'again', failed: false });
    expect(calls).toBe(2);
  });

  it('runs at most four calls concurrently', async () => {
    let running = 0;
    let most = 0;
    const fourRun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const { call } = await setUp({
      answer: async (query) => {
        running += 1;
        most = Math.max(most, running);
        if (running === 4) fourRun.resolve();
        await ended.promise;
        running -= 1;
        return { text: query };
      },
    });
    const queries = Array.from({ length: 12 }, (_, index) => `q${index}`);
    const results = Promise.all(queries.map((query) => call(query)));
    await fourRun.promise;
    await sleep(50); // A fifth call would have arrived by now.
    ended.resolve();
    expect((await results).map(({ text }) => text)).toEqual(queries);
    expect(most).toBe(4);
  });

  it('is not replaced after a failed call', async () => {
    const { call, server } = await setUp({
      fault: (query, response) => query === 'broken' && response.destroy() !== undefined,
    });
    await call('first');
    const before = server.requests();
    await call('broken');
    await call('last');
    expect(server.requests() - before).toBe(2);
  });

  it('begins a new session if the server has lost the old one, and repeats the call', async () => {
    const { call, server } = await setUp({ sessions: true });
    expect(await call('before')).toEqual({ text: 'before', failed: false });
    await server.close();
    const again = await startMcpServer({
      tool: 'echo_tool',
      token: TOKEN,
      answer: (query) => ({ text: `again: ${query}` }),
      sessions: true,
      port: server.port,
    });
    cleanup.defer(again.close);
    // The first call may be sent before the closed connection is noticed.
    await call('lost');
    expect(await call('after')).toEqual({ text: 'again: after', failed: false });
  });

  it('is shared with turns whose token is valid after the token of another turn was rejected', async () => {
    const { toolServer } = await setUp({});
    const expired = toolServer.forTurn(() => 'expired');
    const valid = toolServer.forTurn(() => TOKEN);
    const calls = [expired, valid].map((source) => source.call('echo_tool', { query: 'q' }, NEVER));
    expect((await Promise.all(calls)).map(({ failed }) => failed)).toEqual([true, false]);
  });

  it.each([
    { listTtlMs: 0, requests: 1 },
    { listTtlMs: 60_000, requests: 0 },
  ])('lists the tools again as the server allows: $listTtlMs ms', async ({ listTtlMs, requests }) => {
    const { source, server } = await setUp({ listTtlMs });
    await source.list(NEVER);
    const before = server.requests();
    await source.list(NEVER);
    expect(server.requests() - before).toBe(requests);
  });

  it('keeps the list of a server that states no time to live', async () => {
    const { source, server } = await setUp({ sessions: true });
    await source.list(NEVER);
    const before = server.requests();
    expect(await source.list(NEVER)).toHaveLength(2);
    expect(server.requests()).toBe(before);
  });
});
