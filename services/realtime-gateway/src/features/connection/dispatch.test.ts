import { describe, expect, it } from '@jest/globals';
import { ApiError, ErrorBody, LIMITS } from '@uswarm/contract';
import { Registry, silentLogger } from '@uswarm/service-kit';
import { createGatewayMetrics } from '../../metrics/gateway-metrics.js';
import { type ClientEventHandler, createDispatch, type DispatchDeps } from './dispatch.js';

function setUp(handle: ClientEventHandler['handle'], options: Partial<DispatchDeps> = {}) {
  const refusals: { error: ErrorBody; payload: unknown }[] = [];
  const handler: ClientEventHandler = { handle, refused: (error, payload) => void refusals.push({ error, payload }) };
  const metrics = createGatewayMetrics(new Registry());
  const dispatch = createDispatch({
    handlers: {
      'workspace.subscribe': handler,
      'workspace.unsubscribe': handler,
      'session.renew': handler,
      'message.send': handler,
    },
    logger: () => silentLogger,
    metrics,
    queueLimit: 10,
    rate: () => 0,
    refusals: () => 0,
    flooded: () => undefined,
    ...options,
  });
  const ask = (name: string, ...args: unknown[]): Promise<unknown> =>
    new Promise((resolve) => dispatch(name, ...args, resolve));
  return {
    dispatch,
    ask,
    refusals,
    throttled: async (reason: string) =>
      (await metrics.throttled.get()).values.find(({ labels }) => labels.reason === reason)?.value,
  };
}

describe('the dispatch of client events', () => {
  it('answers the acknowledgement callback with ok and the fields of the handler', async () => {
    const { ask } = setUp(async ({ payload, acknowledge }) => acknowledge({ payload }));
    expect(await ask('message.send', { a: 1 })).toEqual({ ok: true, payload: { a: 1 } });
  });

  it('reports an error by callback and by event', async () => {
    const { ask, refusals } = setUp(async () => {
      throw new ApiError('workspace_not_found', { extra: { hint: 'h' } });
    });
    const answer = ErrorBody.parse(await ask('message.send', 'payload'));
    expect(answer).toMatchObject({ code: 'workspace_not_found', extra: { hint: 'h', request_id: expect.any(String) } });
    expect(refusals).toEqual([{ error: answer, payload: 'payload' }]);
  });

  it('refuses a payload above the size limit before it is queued, and accepts one of exactly the limit', async () => {
    const { promise: first, resolve: finishFirst } = Promise.withResolvers<void>();
    const { ask } = setUp(async ({ acknowledge }) => {
      await first;
      acknowledge({});
    });
    // With its quotes.
    const largest = 'x'.repeat(LIMITS.bodyBytes - 2);
    const accepted = ask('message.send', largest);
    expect(await ask('message.send', `${largest}x`)).toMatchObject({ code: 'payload_too_large' });
    finishFirst();
    expect(await accepted).toEqual({ ok: true });
  });

  it('rejects a payload with 100,000 levels and does not call the handler', async () => {
    const handled: unknown[] = [];
    const { ask, refusals } = setUp(async ({ payload }) => void handled.push(payload));
    const payload: unknown = {
      content: { type: 'text', other: JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) },
    };
    const answer = await ask('message.send', payload);
    expect(answer).toMatchObject({ code: 'validation_failed', message: expect.stringContaining('64 levels') });
    expect(refusals.map(({ error }) => error)).toEqual([answer]);
    expect(handled).toEqual([]);
  });

  it('survives a handler that throws synchronously and does not reveal the error', async () => {
    const { ask } = setUp(() => {
      throw new Error('the password is 1234');
    });
    const answer = await ask('message.send', {});
    expect(answer).toMatchObject({ code: 'internal_error' });
    expect(JSON.stringify(answer)).not.toContain('1234');
  });

  it.each(['no.such', 'constructor', '__proto__'])(
    'answers the unknown event %s with validation_failed',
    async (name) => {
      const { ask, refusals } = setUp(async () => undefined);
      expect(await ask(name)).toMatchObject({ code: 'validation_failed' });
      expect(refusals).toEqual([]);
    },
  );

  it('accepts an event without payload and callback', async () => {
    const seen: unknown[] = [];
    const { dispatch, ask } = setUp(async ({ payload, acknowledge }) => {
      seen.push(payload);
      acknowledge({});
    });
    dispatch('message.send');
    await ask('message.send');
    expect(seen).toEqual([undefined, undefined]);
  });

  it('answers service_unavailable if the queue is full, however often the client tries', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { dispatch, ask, refusals, throttled } = setUp(
      async ({ acknowledge }) => {
        await promise;
        acknowledge({});
      },
      {
        queueLimit: 2,
        refusals: () => {
          throw new Error('a full queue is not the fault of the client');
        },
      },
    );
    dispatch('message.send', 1);
    const second = ask('message.send', 2);
    const full = { code: 'service_unavailable', extra: { retry_after_ms: expect.any(Number), stored: 'no' } };
    expect(await ask('message.send', 3)).toMatchObject(full);
    for (let n = 4; n <= 200; n += 1) dispatch('message.send', n);
    expect(refusals).toHaveLength(198);
    expect(await throttled('queue')).toBe(198);
    resolve();
    expect(await second).toEqual({ ok: true });
  });

  it('answers rate_limited with the retry time if the rate is exceeded', async () => {
    const waits = [0, 40];
    const { ask, refusals, throttled } = setUp(async ({ acknowledge }) => acknowledge({}), {
      rate: () => waits.shift() ?? 0,
    });
    expect(await ask('message.send', 1)).toEqual({ ok: true });
    expect(await ask('message.send', 2)).toMatchObject({ code: 'rate_limited', extra: { retry_after_ms: 40 } });
    expect(refusals).toMatchObject([{ payload: 2 }]);
    expect(await ask('message.send', 3)).toEqual({ ok: true });
    expect(await throttled('rate')).toBe(1);
  });

  it('counts a payload above the size limit more than other refusals', async () => {
    const costs: (number | undefined)[] = [];
    const { ask } = setUp(async () => undefined, {
      refusals: (cost) => {
        costs.push(cost);
        return 0;
      },
    });
    await ask('message.send', 'x'.repeat(LIMITS.bodyBytes));
    expect(costs).toEqual([10]);
  });

  it('stops answering a client that continues after too many refusals', async () => {
    let left = 2;
    let floods = 0;
    const { dispatch, refusals } = setUp(async () => undefined, {
      rate: () => 40,
      refusals: () => (left > 0 ? ((left -= 1), 0) : 1),
      flooded: () => (floods += 1),
    });
    for (let n = 0; n < 10; n += 1) dispatch('message.send', n);
    expect(refusals.map(({ payload }) => payload)).toEqual([0, 1]);
    expect(floods).toBe(1);
  });
});
