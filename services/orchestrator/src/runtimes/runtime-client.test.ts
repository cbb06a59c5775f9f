import { createPublicKey } from 'node:crypto';
import { createServer, type Http2Server } from 'node:http2';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { freePort } from '@uswarm/dev-servers';
import { AgentRuntime, EntryKind, type RunTurnRequest, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { createCallTokenVerifier, generateCallKeys, MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { MAX_ENTRY_BYTES } from '../turns/journal/journal.store.js';
import { createRuntimeClient, type RuntimeClient } from './runtime-client.js';

describe('connections to runtimes', () => {
  let server: Http2Server;
  let received: number;
  let client: RuntimeClient;

  beforeEach(async () => {
    received = 0;
    // The server accepts calls and never responds.
    server = createServer().on('stream', (stream) => {
      received += 1;
      stream.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = createRuntimeClient([generateCallKeys().privateKey]);
  });
  afterEach(async () => {
    client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('are closed with their runtime, and other connections stay open', async () => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = (workspaceId: string): Promise<unknown> =>
      client.identify({ workspaceId, address }).catch((error: { code?: unknown }) => error.code);
    const [leaving, staying] = [outcome('a'), outcome('b')];
    await eventually(() => received === 2);
    client.forget('a');
    expect({ deleted: await leaving, other: await staying }).toEqual({
      deleted: Code.Canceled,
      other: Code.DeadlineExceeded,
    });
  });
});

describe('a runtime that does not accept connections yet', () => {
  const identity = { workspaceId: 'w', instanceId: 'i' };
  const adapter = connectNodeAdapter({
    routes: (router) => router.service(AgentRuntime, { identify: () => identity }),
  });

  it('is identified when it does, if it has just become ready, and is refused immediately otherwise', async () => {
    const port = await freePort();
    const target = { workspaceId: 'w', address: `http://127.0.0.1:${port}` };
    const client = createRuntimeClient([generateCallKeys().privateKey]);
    const server = createServer(adapter);
    try {
      await expect(client.identify(target)).rejects.toMatchObject({ code: Code.Unavailable });
      const identified = client.identify(target, undefined, { becameReady: true });
      await new Promise((resolve) => setTimeout(resolve, 250));
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      expect(await identified).toMatchObject({ instanceId: 'i' });
    } finally {
      client.close();
      server.close();
    }
  });
});

describe('a turn with a large journal', () => {
  it('is sent with its whole journal, and its largest entry is read', async () => {
    const body = 'x'.repeat(MAX_ENTRY_BYTES);
    let received = 0;
    const adapter = connectNodeAdapter({
      readMaxBytes: 2 * MAX_TURN_JOURNAL_BYTES,
      routes: (router) =>
        router.service(AgentRuntime, {
          async *runTurn({ journal }) {
            received = journal.reduce((sum, entry) => sum + entry.body.length, 0);
            yield { number: 1n, event: { case: 'entry', value: { number: 4, kind: EntryKind.RESULT, body } } };
          },
        }),
    });
    const server = createServer(adapter);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = createRuntimeClient([generateCallKeys().privateKey]);
    try {
      const sizes = [MAX_ENTRY_BYTES, MAX_ENTRY_BYTES, MAX_TURN_JOURNAL_BYTES - 2 * MAX_ENTRY_BYTES];
      const journal = sizes.map((size, index) => ({ number: index + 1, body: 'x'.repeat(size) }));
      const history = [{ text: 'x'.repeat(512 * 1024) }];
      const request = create(RunTurnRequestSchema, { turnId: 't', journal, history });
      const target = { workspaceId: 'w', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
      const read: number[] = [];
      for await (const { event } of client.runTurn(target, request, new AbortController().signal)) {
        if (event.case === 'entry') read.push(event.value.body.length);
      }
      expect({ received, read }).toEqual({ received: MAX_TURN_JOURNAL_BYTES, read: [MAX_ENTRY_BYTES] });
    } finally {
      client.close();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe('during a key rotation', () => {
  const [before, now] = [generateCallKeys(), generateCallKeys()];
  let server: Http2Server;
  let client: RuntimeClient;
  let publicKey: string;
  let refused: number;

  const check = async ({ requestHeader }: HandlerContext): Promise<void> => {
    const token = (requestHeader.get('authorization') ?? '').replace('Bearer ', '');
    await createCallTokenVerifier(
      createPublicKey(publicKey),
      'w',
    )(token).catch(() => {
      refused += 1;
      throw new ConnectError('the call token is not valid', Code.Unauthenticated);
    });
  };
  beforeEach(async () => {
    [publicKey, refused] = [before.publicKey, 0];
    const adapter = connectNodeAdapter({
      routes: (router) =>
        router.service(AgentRuntime, {
          identify: async (_request, context) => (await check(context), { workspaceId: 'w', instanceId: 'i' }),
          status: async (_request, context) => (await check(context), { busy: true, idleMs: 0n }),
          stopTurn: async (_request, context) => (await check(context), {}),
          async *runTurn(_request, context) {
            await check(context);
            yield { number: 1n };
            yield { number: 2n };
          },
        }),
    });
    server = createServer(adapter);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = createRuntimeClient([now.privateKey, before.privateKey]);
  });
  afterEach(async () => {
    client.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const target = () => ({ workspaceId: 'w', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const turn = async (): Promise<number> => {
    const events: unknown[] = [];
    const request = { turnId: 't' } as RunTurnRequest;
    for await (const event of client.runTurn(target(), request, new AbortController().signal)) events.push(event);
    return events.length;
  };

  it('a runtime with the previous key rejects one call only', async () => {
    expect(await client.identify(target())).toMatchObject({ instanceId: 'i', features: [] });
    expect(await client.status(target())).toMatchObject({ busy: true });
    expect({ events: await turn(), refused }).toEqual({ events: 2, refused: 1 });
  });

  it('a turn finds the accepted key, also after the runtime was replaced', async () => {
    expect({ events: await turn(), refused }).toEqual({ events: 2, refused: 1 });
    publicKey = now.publicKey;
    expect({ events: await turn(), refused }).toEqual({ events: 2, refused: 2 });
    expect(await client.identify(target())).toMatchObject({ instanceId: 'i', features: [] });
  });

  it('a runtime that accepts no key causes an unauthenticated error', async () => {
    publicKey = generateCallKeys().publicKey;
    await expect(client.identify(target())).rejects.toMatchObject({ code: Code.Unauthenticated });
    await expect(turn()).rejects.toMatchObject({ code: Code.Unauthenticated });
    expect(refused).toBe(4);
  });
});

describe('a runtime that shuts down behind a Service', () => {
  /** Starts a runtime that streams two events per turn, the second one after `release`. */
  async function startPod(name: string) {
    const release = Promise.withResolvers<void>();
    const state = { stopping: false, stops: [] as string[], renewals: [] as string[] };
    const adapter = connectNodeAdapter({
      routes: (router) =>
        router.service(AgentRuntime, {
          identify() {
            if (state.stopping) throw new ConnectError('shutting down', Code.Unavailable);
            return { workspaceId: 'w', instanceId: name };
          },
          stopTurn: ({ turnId }) => (state.stops.push(turnId), {}),
          renewToolToken: ({ toolToken }) => (state.renewals.push(toolToken), {}),
          async *runTurn() {
            yield { number: 1n };
            await release.promise;
            yield { number: 2n };
          },
        }),
    });
    const server = createServer(adapter);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { state, release, server, port: (server.address() as AddressInfo).port };
  }

  it('finishes its turn over the old connection while other calls reach the new pod', async () => {
    const [leaving, replacement] = [await startPod('leaving'), await startPod('replacement')];
    // Like a ClusterIP: new connections reach the current pod, existing connections keep theirs.
    let port = leaving.port;
    const service = createTcpServer((socket) => {
      const upstream = connectTcp(port, '127.0.0.1');
      socket.pipe(upstream).pipe(socket);
      for (const end of [socket, upstream]) end.on('error', () => [socket, upstream].forEach((each) => each.destroy()));
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const target = { workspaceId: 'w', address: `http://127.0.0.1:${(service.address() as AddressInfo).port}` };
    const client = createRuntimeClient([generateCallKeys().privateKey]);
    try {
      const turn = { turnId: 't', generation: 1 };
      const stream = client.runTurn(target, turn as RunTurnRequest, new AbortController().signal);
      const events = stream[Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ number: 1n });

      leaving.state.stopping = true;
      port = replacement.port;
      await expect(client.identify(target)).rejects.toMatchObject({ code: Code.Unavailable });
      expect(await client.identify(target)).toMatchObject({ instanceId: 'replacement' });
      await client.renewToolToken(target, { ...turn, toolToken: 'renewed', modelToken: '' });
      await client.stopTurn(target, turn);
      expect(leaving.state).toMatchObject({ renewals: ['renewed'], stops: ['t'] });
      expect(replacement.state.stops).toEqual([]);

      leaving.release.resolve();
      expect((await events.next()).value).toMatchObject({ number: 2n });
      expect((await events.next()).done).toBe(true);
      await client.stopTurn(target, { turnId: 'later', generation: 1 });
      expect(replacement.state.stops).toEqual(['later']);
    } finally {
      client.close();
      service.close();
      for (const { server } of [leaving, replacement]) server.close();
    }
  });
});
