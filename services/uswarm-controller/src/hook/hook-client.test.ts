import { createServer, type RequestListener } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { SyncRequest } from '@uswarm/contract/userswarm';
import { listen, type RunningServer } from '@uswarm/service-kit';
import { createHook, type Hook, HookError, type HookOptions } from './hook-client.js';

const REQUEST = { finalizing: false } as SyncRequest;
const ANSWER = { status: { phase: 'Ready' }, children: [] };
const never = new AbortController().signal;

describe('the call of the webhook', () => {
  const open: { close(): Promise<void> }[] = [];
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
    open.push({ close: () => server.close(10) }, hook);
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
      expect(await faultOf(hook)).toMatchObject({ outcome: 'refused', message: `the webhook answered ${status}` });
      expect(outcomes).toEqual(['refused']);
    },
  );

  it.each([
    '',
    '<html>',
    '[]',
    'null',
    '{}',
    '{"status":{}}',
    '{"children":[]}',
    '{"status":{},"children":[],"more":1}',
  ])('takes no rubbish for an answer: %s', async (text) => {
    const hook = await hookTo((_request, response) => void response.end(text));
    expect(await faultOf(hook)).toMatchObject({ outcome: 'invalid' });
  });

  it('reads no more of an answer than one can be long', async () => {
    const hook = await hookTo((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(' '.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    });
    expect((await faultOf(hook)).message).toContain('longer than');
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
    expect(first).toMatchObject({ outcome: 'unreachable', message: 'the webhook cannot be reached (ECONNREFUSED)' });
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
});
