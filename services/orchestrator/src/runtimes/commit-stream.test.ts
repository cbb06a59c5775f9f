import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { type AdvanceRequest, AgentRuntime, RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { generateCallKeys } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { openCommitStream } from './commit-stream.js';
import { createRuntimeClient } from './runtime-client.js';

const commit = (through: number, turnId = 't') => ({
  turnId,
  generation: 1,
  committedThrough: BigInt(through),
  resolutions: [],
});

const SILENT: AsyncIterator<object> = { next: () => new Promise(() => undefined) };

describe('the commits of a turn', () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  async function startRuntime(advance: (commits: AsyncIterable<AdvanceRequest>) => AsyncIterable<object>) {
    const calls = { advance: 0, ended: 0 };
    const adapter = connectNodeAdapter({
      routes: (router) =>
        router.service(AgentRuntime, {
          async *runTurn(_request, { signal }) {
            yield { number: 1n };
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          },
          async *advance(commits) {
            calls.advance += 1;
            yield* advance(commits);
            calls.ended += 1;
          },
        }),
    });
    const server: Http2Server = createServer(adapter);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = createRuntimeClient([generateCallKeys().privateKey]);
    const target = { workspaceId: 'w', address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    closers.push(() => (client.close(), server.close()));
    const leave = new AbortController();
    async function follow(turnId: string) {
      const request = create(RunTurnRequestSchema, { turnId, generation: 1 });
      const events = client.runTurn(target, request, leave.signal)[Symbol.asyncIterator]();
      await events.next();
      return events;
    }
    return { client, calls, leave, follow };
  }

  it('are sent in order, over one call for each turn that is followed', async () => {
    const received: string[] = [];
    const { client, calls, follow } = await startRuntime(async function* (commits) {
      for await (const { turnId, committedThrough } of commits) {
        received.push(`${turnId} ${committedThrough}`);
        yield {};
      }
    });
    await follow('t');
    await follow('u');
    await Promise.all([client.advance(commit(1)), client.advance(commit(2)), client.advance(commit(1, 'u'))]);
    await client.advance(commit(3));
    expect(received.filter((one) => one.startsWith('t'))).toEqual(['t 1', 't 2', 't 3']);
    expect({ received: received.length, calls: calls.advance }).toEqual({ received: 4, calls: 2 });
  });

  it('are rejected if the turn is not followed', async () => {
    const { client } = await startRuntime(async function* () {});
    await expect(client.advance(commit(1))).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });

  it('end with the events of the turn', async () => {
    const { client, calls, follow } = await startRuntime(async function* (commits) {
      for await (const _ of commits) yield {};
    });
    const events = await follow('t');
    await client.advance(commit(1));
    await events.return?.(undefined);
    expect(await eventually(() => calls.ended === 1)).toBe(true);
    await expect(client.advance(commit(2))).rejects.toMatchObject({ code: Code.FailedPrecondition });
  });

  it('fail after the runtime has rejected one, and are sent over a new call when the turn is followed again', async () => {
    let rejects = true;
    const { client, calls, follow } = await startRuntime(async function* (commits) {
      for await (const _ of commits) {
        if (rejects) throw new ConnectError('superseded', Code.FailedPrecondition);
        yield {};
      }
    });
    const events = await follow('t');
    await expect(client.advance(commit(1))).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await expect(client.advance(commit(2))).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await events.return?.(undefined);
    rejects = false;
    await follow('t');
    await client.advance(commit(2));
    expect(calls.advance).toBe(2);
  });

  it('fail when the turn is no longer followed', async () => {
    const { client, leave, follow } = await startRuntime(() => ({ [Symbol.asyncIterator]: () => SILENT }));
    await follow('t');
    const sent = client.advance(commit(1));
    leave.abort();
    await expect(sent).rejects.toBeInstanceOf(ConnectError);
  });

  it('fail if the runtime does not respond in time', async () => {
    let ended: AbortSignal | undefined;
    const stream = openCommitStream({
      advance(_commits, { signal }) {
        ended = signal;
        return { [Symbol.asyncIterator]: () => SILENT };
      },
      signal: new AbortController().signal,
      timeoutMs: 5,
    });
    await expect(stream.send(commit(1))).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await expect(stream.send(commit(2))).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(ended?.aborted).toBe(true);
  });

  it('fail if the runtime ends the call', async () => {
    const stream = openCommitStream({ async *advance() {}, signal: new AbortController().signal, timeoutMs: 1_000 });
    await expect(stream.send(commit(1))).rejects.toMatchObject({ code: Code.Unavailable });
  });
});
