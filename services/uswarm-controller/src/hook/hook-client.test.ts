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

describe('the call of the webhook', () => {
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

  it('posts the request with the token and returns the answer', async () => {
    let seen: unknown;
    const hook = await hookTo((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => {
        seen = [request.method, request.url, request.headers.authorization, request.headers['content-type'], text];
        response.end(JSON.stringify(ANSWER));
      });
    });
    expect(await hook.call(REQUEST, never)).toEqual(ANSWER);
    expect(seen).toEqual(['POST', '/sync', 'Bearer secret', 'application/json', '{"finalizing":false}']);
    expect(outcomes).toEqual(['ok']);
  });

  it.each([500, 503, 401, 400, 404, 201, 204, 302])(
    'takes no other status than 200 for an answer: %s',
    async (status) => {
      const hook = await hookTo((_request, response) => {
        response.writeHead(status, { location: '/elsewhere' }).end(status === 204 ? undefined : JSON.stringify(ANSWER));
      });
      expect(await faultOf(hook)).toMatchObject({ outcome: 'refused', message: `the webhook returned HTTP ${status}` });
      expect(outcomes).toEqual(['refused']);
    },
  );

  it.each(['', '<html>', '[]', 'null', '{}', '{"error":"internal error"}', '{"status":{},"children":"none"}'])(
    'takes no rubbish for an answer: %s',
    async (text) => {
      const hook = await hookTo((_request, response) => void response.end(text));
      expect(await faultOf(hook)).toMatchObject({ outcome: 'invalid' });
    },
  );

  it('reads no more of an answer than one can be long', async () => {
    const hook = await hookTo((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    });
    expect((await faultOf(hook)).message).toContain('exceeds');
  });

  it('waits no longer than its timeout, for the head and for the rest', async () => {
    const silent = await hookTo(() => {}, { timeoutMs: 50 });
    expect(await faultOf(silent)).toMatchObject({ outcome: 'timeout' });
    const slow = await hookTo((_request, response) => void response.write('{'), { timeoutMs: 50 });
    expect(await faultOf(slow)).toMatchObject({ outcome: 'timeout' });
  });

  it('says the same each time that nobody listens', async () => {
    const hook = await hookTo(() => {});
    await open.shift()?.close();
    const [first, second] = [await faultOf(hook), await faultOf(hook)];
    expect(first).toMatchObject({ outcome: 'unreachable', message: 'the webhook is unreachable (ECONNREFUSED)' });
    expect(second.message).toBe(first.message);
  });

  it('ends when it is no longer wanted, and blames nobody', async () => {
    const hook = await hookTo(() => {});
    const stopping = new AbortController();
    const call = hook.call(REQUEST, stopping.signal);
    stopping.abort(new Error('stopping'));
    await expect(call).rejects.toThrow('stopping');
    expect(outcomes).toEqual([]);
  });

  it('asks once more on another connection when one breaks, and counts one answer', async () => {
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

  it('asks once more after a refusal, and only once', async () => {
    let calls = 0;
    const hook = await hookTo((_request, response) => {
      calls += 1;
      response.writeHead(503).end();
    });
    expect(await faultOf(hook)).toMatchObject({ outcome: 'refused', message: 'the webhook returned HTTP 503' });
    expect(calls).toBe(2);
  });

  it('waits as long as a webhook asks for that answers 429', async () => {
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

  it('says for how long nobody has been answered', async () => {
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

  it('leaves the webhook alone during a long outage but for a probe', async () => {
    let calls = 0;
    const hook = await hookTo((request) => void ((calls += 1), request.socket.destroy()), { outageMs: 0 });
    const probe = await faultOf(hook);
    const probed = calls;
    const refused = await Promise.all(Array.from({ length: 50 }, () => faultOf(hook)));
    // A slow machine may need the second in which the next probe is due.
    expect(calls - probed).toBeLessThan(refused.length);
    expect(refused[0]).toMatchObject({ outcome: probe.outcome, message: probe.message });
  });

  describe('with pods of several revisions behind one Service', () => {
    interface Pod {
      revision: string | undefined;
      started: number;
    }
    const OLD: Pod = { revision: 'old', started: 1 };
    const NEW: Pod = { revision: 'new', started: 2 };
    const NAMELESS: Pod = { revision: undefined, started: 0 };
    let pods: Pod[];
    /** As kube-proxy does: each connection goes to one of the pods, and stays there. */
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
      response.end(JSON.stringify({ status: { phase: revision ?? 'nameless' }, children: [] }));
    };
    const phases = async (hook: Hook, times: number): Promise<unknown[]> => {
      const answers = await Promise.all(Array.from({ length: times }, () => hook.call(REQUEST, never)));
      return [...new Set(answers.map(({ status }) => status['phase']))];
    };
    beforeEach(() => {
      connections = 0;
    });

    it.each([
      ['an older one', OLD, 'old'],
      ['one that names no revision', NAMELESS, 'nameless'],
    ])('uses the newest revision only as soon as it answers, beside %s', async (_what, older, named) => {
      pods = [older];
      const hook = await hookTo(service);
      expect(await phases(hook, 8)).toEqual([named]);
      pods = [older, older, NEW];
      const seen: unknown[] = [];
      for (let round = 0; round < 40; round += 1) {
        // A pod that stops ends its connections; until then nothing shows that there is a newer one.
        if (round % 5 === 0) for (const { drop } of open) drop?.();
        seen.push((await hook.call(REQUEST, never)).status['phase']);
      }
      const first = seen.indexOf('new');
      expect(first).toBeGreaterThanOrEqual(0);
      expect(new Set(seen.slice(first))).toEqual(new Set(['new']));
      expect(await phases(hook, 16)).toEqual(['new']);
    });

    it('returns to an older revision when the newest no longer responds', async () => {
      pods = [NEW];
      const hook = await hookTo(service, { revisionGoneMs: 300 });
      expect(await phases(hook, 1)).toEqual(['new']);
      pods = [OLD];
      // The newest one's connections go with it.
      const before = connections;
      for (const { drop } of open) drop?.();
      expect(await phases(hook, 4)).toEqual(['old']);
      expect(connections).toBeGreaterThan(before);
    });
  });
});
