import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SyncRequest } from '@uswarm/contract/userswarm';
import { listen, type RunningServer } from '@uswarm/service-kit';
import { createHook, type Hook, type HookOptions } from './hook-client.js';
import { HookBusy, HookError, retryAfterSeconds } from './hook-error.js';

const REQUEST = { finalizing: false } as SyncRequest;
const ANSWER = { status: { phase: 'Ready' }, children: [] };
const never = new AbortController().signal;

describe('the hook client', () => {
  const open: { close(): Promise<void>; drop?: () => void }[] = [];
  const outcomes: string[] = [];

  const hookTo = async (handler: RequestListener, options: Partial<HookOptions> = {}): Promise<Hook> => {
    const server: RunningServer = await listen(createServer(handler), { host: '127.0.0.1', port: 0 });
    const hook = createHook({
      url: `${server.url}/sync`,
      token: 'secret',
      timeoutMs: 5_000,
      onAnswer: (outcome) => outcomes.push(outcome),
      ...options,
    });
    open.push({ close: () => server.close(10), drop: () => server.server.closeAllConnections() }, hook);
    return hook;
  };
  const faultOf = async (hook: Hook): Promise<HookError> => {
    const error = await hook.call(REQUEST, never).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(HookError);
    return error as HookError;
  };
  afterEach(async () => {
    outcomes.length = 0;
    for (const part of open.splice(0).toReversed()) await part.close();
  });

  it('posts the request with the token and returns the response', async () => {
    let received: unknown;
    const hook = await hookTo((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => {
        const { method, url, headers } = request;
        const { authorization, 'content-type': type } = headers;
        received = { method, url, authorization, type, text };
        response.end(JSON.stringify(ANSWER));
      });
    });
    expect(await hook.call(REQUEST, never)).toEqual(ANSWER);
    expect(received).toEqual({
      method: 'POST',
      url: '/sync',
      authorization: 'Bearer secret',
      type: 'application/json',
      text: '{"finalizing":false}',
    });
    expect(outcomes).toEqual(['ok']);
  });

  it.each([500, 503, 401, 400, 404, 201, 204, 302])('rejects a response with status %s', async (status) => {
    const hook = await hookTo((_request, response) => {
      response.writeHead(status, { location: '/elsewhere' }).end(status === 204 ? undefined : JSON.stringify(ANSWER));
    });
    expect(await faultOf(hook)).toMatchObject({ outcome: 'refused', message: `the webhook returned HTTP ${status}` });
    expect(outcomes).toEqual(['refused']);
  });

  it.each(['', '<html>', '[]', 'null', '{}', '{"error":"internal error"}', '{"status":{},"children":"none"}'])(
    'rejects an invalid response body: %s',
    async (text) => {
      const hook = await hookTo((_request, response) => void response.end(text));
      expect(await faultOf(hook)).toMatchObject({ outcome: 'invalid' });
    },
  );

  it('stops reading a response above the size limit', async () => {
    const hook = await hookTo((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    });
    expect((await faultOf(hook)).message).toContain('exceeds');
  });

  it('times out while it waits for the headers or the body', async () => {
    const silent = await hookTo(() => {}, { timeoutMs: 50 });
    expect(await faultOf(silent)).toMatchObject({ outcome: 'timeout' });
    const slow = await hookTo((_request, response) => void response.write('{'), { timeoutMs: 50 });
    expect(await faultOf(slow)).toMatchObject({ outcome: 'timeout' });
  });

  it('reports the same error for each call while the webhook is unreachable', async () => {
    const hook = await hookTo(() => {});
    await open.shift()?.close();
    const [first, second] = [await faultOf(hook), await faultOf(hook)];
    expect(first).toMatchObject({ outcome: 'unreachable', message: 'the webhook is unreachable (ECONNREFUSED)' });
    expect(second.message).toBe(first.message);
  });

  it('ends when the call is aborted, and counts no outcome', async () => {
    const hook = await hookTo(() => {});
    const stopping = new AbortController();
    const call = hook.call(REQUEST, stopping.signal);
    stopping.abort(new Error('stopping'));
    await expect(call).rejects.toThrow('stopping');
    expect(outcomes).toEqual([]);
  });

  it('retries once on another connection when a connection breaks, and counts one outcome', async () => {
    const sockets = new Set<Socket>();
    let broken = false;
    const hook = await hookTo((request, response) => {
      sockets.add(request.socket);
      if (broken) response.end(JSON.stringify(ANSWER));
      else request.socket.destroy();
      broken = true;
    });
    expect(await hook.call(REQUEST, never)).toEqual(ANSWER);
    expect(sockets.size).toBe(2);
    expect(outcomes).toEqual(['ok']);
  });

  it('retries once after an error status', async () => {
    let calls = 0;
    const hook = await hookTo((_request, response) => {
      calls += 1;
      response.writeHead(503).end();
    });
    expect(await faultOf(hook)).toMatchObject({ outcome: 'refused', message: 'the webhook returned HTTP 503' });
    expect(calls).toBe(2);
  });

  it('returns the Retry-After of a 429 response', async () => {
    let calls = 0;
    const hook = await hookTo((_request, response) => {
      calls += 1;
      response.writeHead(429, { 'retry-after': '7' }).end();
    });
    const error = await faultOf(hook);
    expect(error).toBeInstanceOf(HookBusy);
    expect(error).toMatchObject({ outcome: 'busy', retryAfterS: 7, outageMs: 0 });
    expect(calls).toBe(1);
    const now = Date.parse('2030-01-01T00:00:00Z');
    expect(retryAfterSeconds('Tue, 01 Jan 2030 00:00:09 GMT', now)).toBe(9);
    expect(retryAfterSeconds('Mon, 31 Dec 2029 00:00:00 GMT', now)).toBe(0);
    expect(retryAfterSeconds(undefined, now)).toBeUndefined();
    expect(retryAfterSeconds('later', now)).toBeUndefined();
  });

  it('reports the duration of the outage', async () => {
    let down = true;
    const hook = await hookTo((_request, response) => void response.writeHead(down ? 500 : 200).end('{"children":[]}'));
    const first = await faultOf(hook);
    const second = await faultOf(hook);
    expect(second.outageMs).toBeGreaterThan(first.outageMs);
    down = false;
    await hook.call(REQUEST, never);
    down = true;
    const answered = performance.now();
    expect((await faultOf(hook)).outageMs).toBeLessThanOrEqual(performance.now() - answered);
  });

  it('sends only probes during a long outage', async () => {
    let calls = 0;
    const hook = await hookTo((request) => void ((calls += 1), request.socket.destroy()), { outageMs: 0 });
    const probe = await faultOf(hook);
    const probed = calls;
    const refused = await Promise.all(Array.from({ length: 50 }, () => faultOf(hook)));
    // A slow machine may need the second in which the next probe is due.
    expect(calls - probed).toBeLessThan(refused.length);
    expect(refused[0]).toMatchObject({ outcome: probe.outcome, message: probe.message });
  });

  describe('the hook client with pods of several revisions behind one Service', () => {
    interface Pod {
      revision: string | undefined;
      started: number;
    }
    const OLD: Pod = { revision: 'old', started: 1 };
    const NEW: Pod = { revision: 'new', started: 2 };
    const UNVERSIONED: Pod = { revision: undefined, started: 0 };
    let pods: Pod[];
    /** Assigns each connection to one pod, as kube-proxy does. */
    const podOf = new WeakMap<Socket, Pod>();
    let connections: number;
    const service: RequestListener = ({ socket }, response) => {
      const pod = podOf.get(socket) ?? pods[(connections += 1) % pods.length]!;
      podOf.set(socket, pod);
      const { revision, started } = pod;
      if (revision !== undefined) {
        response.setHeader('uswarm-webhook-revision', revision);
        response.setHeader('uswarm-webhook-started', new Date(started).toISOString());
      }
      response.end(JSON.stringify({ status: { revision: revision ?? 'unversioned' }, children: [] }));
    };
    const revisions = async (hook: Hook, times: number): Promise<unknown[]> => {
      const answers = await Promise.all(Array.from({ length: times }, () => hook.call(REQUEST, never)));
      return [...new Set(answers.map(({ status }) => status['revision']))];
    };
    beforeEach(() => {
      connections = 0;
    });

    it.each([
      ['an older revision', OLD, 'old'],
      ['a pod without revision headers', UNVERSIONED, 'unversioned'],
    ])('uses only the newest revision after its first response, beside %s', async (_what, older, name) => {
      pods = [older];
      const hook = await hookTo(service);
      expect(await revisions(hook, 8)).toEqual([name]);
      pods = [older, older, NEW];
      const seen: unknown[] = [];
      for (let round = 0; round < 40; round += 1) {
        // A stopping pod closes its connections; until then, the client does not know about a newer pod.
        if (round % 5 === 0) for (const { drop } of open) drop?.();
        seen.push((await hook.call(REQUEST, never)).status['revision']);
      }
      const first = seen.indexOf('new');
      expect(first).toBeGreaterThanOrEqual(0);
      expect(new Set(seen.slice(first))).toEqual(new Set(['new']));
      expect(await revisions(hook, 16)).toEqual(['new']);
    });

    it('returns to an older revision when the newest no longer responds', async () => {
      pods = [NEW];
      const hook = await hookTo(service, { revisionGoneMs: 300 });
      expect(await revisions(hook, 1)).toEqual(['new']);
      pods = [OLD];
      // The newest pod's connections are closed.
      const before = connections;
      for (const { drop } of open) drop?.();
      expect(await revisions(hook, 4)).toEqual(['old']);
      expect(connections).toBeGreaterThan(before);
    });
  });
});
