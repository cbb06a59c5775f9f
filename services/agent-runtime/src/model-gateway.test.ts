import { Readable } from 'node:stream';
import { EntryKind, HistoryRole, Outcome, type TurnEvent } from '@uswarm/runtime-proto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { answer, fn, toolCalls } from '../test/model-call.js';
import { delta, type RawHandler, sendChunks, sendError, startRawModelServer } from '../test/raw-model-server.js';
import { buildRuntime, startRuntimeProcess } from '../test/runtime-process.js';

describe('a runtime behind the model gateway', () => {
  let cleanup = new AsyncDisposableStack();
  beforeAll(buildRuntime);
  afterEach(async () => {
    await cleanup.disposeAsync();
    cleanup = new AsyncDisposableStack();
  });

  async function setUp(handle: RawHandler, env: Record<string, string> = {}) {
    const gateway = cleanup.use(await startRawModelServer(handle));
    const running = await startRuntimeProcess({
      MODEL_GATEWAY_URL: gateway.url.replace(/\/v1$/, ''),
      USWARM_DEFAULT_PROVIDER: 'openai',
      ...env,
    });
    cleanup.defer(running.end);
    return { gateway, running };
  }

  async function ask({ running }: Awaited<ReturnType<typeof setUp>>) {
    const events: TurnEvent['event'][] = [];
    const history = [{ role: HistoryRole.USER, text: 'Hello' }];
    const agent = { id: 'a', slug: 'researcher', name: 'Rita', model: 'flash' };
    const turn = { turnId: 't', generation: 1, modelToken: 'first-token', agent, history, firstStep: 1 };
    for await (const { event } of running.runtime.runTurn(turn)) events.push(event);
    const done = events.at(-1);
    if (done?.case !== 'done') throw new Error('no done');
    return done.value;
  }

  it('reads the token of the turn before each request, and leaves the choice of the model to the gateway', async () => {
    const asked = Promise.withResolvers<void>();
    const renewed = Promise.withResolvers<void>();
    const setup = await setUp(async (response, _request, index) => {
      if (index > 0) return sendChunks(response, answer('Done.'));
      asked.resolve();
      await renewed.promise;
      sendChunks(response, [
        toolCalls({ index: 0, id: 'x', function: fn('unknown_tool', '{}') }),
        delta({}, 'tool_calls'),
      ]);
    });
    const done = ask(setup);
    await asked.promise;
    const tokens = { toolToken: '', modelToken: 'second-token' };
    await setup.running.runtime.renewToolToken({ turnId: 't', generation: 1, ...tokens });
    renewed.resolve();
    expect((await done).text).toBe('Done.');
    const sent = setup.gateway.requests.map(({ path, headers, body }) => [path, headers.authorization, body['model']]);
    expect(sent).toEqual([
      ['/openai/v1/chat/completions', 'Bearer first-token', 'flash'],
      ['/openai/v1/chat/completions', 'Bearer second-token', 'flash'],
    ]);
    expect(setup.running.log()).not.toMatch(/first-token|second-token/);
  });

  it('waits until the last result is committed, because the next model call is not announced', async () => {
    const { running, gateway } = await setUp((response, _request, index) => {
      const call = toolCalls({ index: 0, id: 'x', function: fn('unknown_tool', '{}') });
      sendChunks(response, index > 0 ? answer('Done.') : [call, delta({}, 'tool_calls')]);
    });
    const { runtime } = running;
    const turn = { turnId: 't', generation: 1 };
    const request = {
      ...turn,
      agent: { id: 'a', slug: 'researcher', name: 'Rita', model: 'flash' },
      history: [{ role: HistoryRole.USER, text: 'Hello' }],
      firstStep: 1,
      journaled: true,
      budgeted: true,
    };
    const barriers: string[] = [];
    let committed = 0;
    for await (const { number, barrier, event } of runtime.runTurn(request)) {
      if (!barrier) continue;
      barriers.push(event.case === 'entry' ? EntryKind[event.value.kind] : String(event.case));
      const commits = Readable.from([{ ...turn, committedThrough: number }]);
      for await (const _ of runtime.advance(commits)) committed += 1;
    }
    expect({ barriers, committed }).toEqual({ barriers: ['STEP', 'RESULT'], committed: 2 });
    expect(gateway.requests).toHaveLength(2);
  });

  it('sends the token instead of a key in the Messages protocol as well', async () => {
    const env = { USWARM_DEFAULT_PROVIDER: 'anthropic', ANTHROPIC_API_KEY: 'provider-key' };
    const setup = await setUp(
      (response) => sendError(response, 402, { type: 'token_limit_reached', message: 'no budget' }),
      env,
    );
    const done = await ask(setup);
    expect(done).toMatchObject({ outcome: Outcome.FAILED, errorCode: 'token_limit_reached' });
    const [request] = setup.gateway.requests;
    expect(request).toMatchObject({
      path: '/anthropic/v1/messages',
      headers: { authorization: 'Bearer first-token' },
      body: { model: 'flash' },
    });
    expect(JSON.stringify(request)).not.toContain('provider-key');
  });

  it('does not send the token to a provider that it calls with its own key', async () => {
    const own = { MODEL_GATEWAY_URL: '', OPENAI_API_KEY: 'own-key', OPENAI_MODEL: 'model-a' };
    const provider = cleanup.use(await startRawModelServer((response) => sendChunks(response, answer('Done.'))));
    const setup = await setUp(() => undefined, { ...own, OPENAI_BASE_URL: provider.url });
    expect((await ask(setup)).text).toBe('Done.');
    expect(provider.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer own-key']);
    expect(setup.gateway.requests).toEqual([]);
  });
});
