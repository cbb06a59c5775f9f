import { createPrivateKey } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import {
  EntryKind,
  HistoryRole,
  health,
  Outcome,
  type RunTurnRequest,
  type RunTurnRequestSchema,
  type TurnEvent,
} from '@uswarm/runtime-proto';
import { generateCallKeys, signCallToken } from '@uswarm/service-kit';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import {
  buildRuntime,
  callToken,
  expiredToken,
  type RuntimeProcess,
  startRuntimeProcess,
  WORKSPACE,
} from '../test/runtime-process.js';

const { SERVING, NOT_SERVING } = health.HealthCheckResponse_ServingStatus;

type TurnInit = Exclude<MessageInitShape<typeof RunTurnRequestSchema>, RunTurnRequest>;

const turn = (init: TurnInit = {}): TurnInit => ({
  turnId: 'turn',
  generation: 1,
  agent: { id: 'agent', slug: 'manager', name: 'Mara' },
  history: [{ role: HistoryRole.USER, text: 'What is nonce-4711?' }],
  firstStep: 1,
  ...init,
});

async function all(events: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> {
  const list: TurnEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const code = (wanted: Code) => expect.objectContaining({ code: wanted });

describe('the runtime process', () => {
  let current: RuntimeProcess | undefined;
  beforeAll(buildRuntime);
  afterEach(async () => {
    await current?.end();
    current = undefined;
  });

  /** So slow that a turn is still running when a test checks it. */
  const SLOW = { USWARM_DEMO_DELAY_MS: '60000' };

  async function start(env?: Record<string, string>): Promise<RuntimeProcess> {
    current = await startRuntimeProcess(env);
    return current;
  }

  /** Starts a turn and returns after its first event. */
  async function startTurn({ runtime }: RuntimeProcess, init?: TurnInit) {
    const begun = Promise.withResolvers<void>();
    const rest = (async () => {
      const list: TurnEvent[] = [];
      for await (const event of runtime.runTurn(turn(init))) {
        list.push(event);
        begun.resolve();
      }
      return list;
    })();
    rest.catch(begun.reject);
    await begun.promise;
    return { rest };
  }

  it('reports its identity, and prints only its port to standard output', async () => {
    const { runtime, stdout, port } = await start();
    const first = await runtime.identify({});
    expect(first).toMatchObject({
      workspaceId: WORKSPACE,
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      features: [
        'skills.1',
        'retract.1',
        'model-token.1',
        'journal.1',
        'tools.1',
        'journal.2',
        'budget.1',
        'tool-grants.1',
        'files.1',
        'long-history.1',
        'steer.1',
      ],
    });
    expect((await runtime.identify({})).instanceId).toBe(first.instanceId);
    await all(runtime.runTurn(turn()));
    expect(stdout).toEqual([`{"event":"listening","port":${port}}`]);
  });

  it('continues a turn with the largest journal, and rejects a larger one', async () => {
    const { runtime } = await start();
    const step = (size: number): string => {
      const around = { finish: 'length', text: '', message: { role: 'assistant', content: [] }, calls: [] };
      const said = { type: 'text', text: 'x'.repeat(size - JSON.stringify({ ...around, said: '' }).length - 100) };
      const body = JSON.stringify({ ...around, message: { role: 'assistant', content: [said] } });
      return body + ' '.repeat(size - body.length);
    };
    const mebibytes = (...sizes: number[]) =>
      sizes.map((size, index) => ({ number: index + 1, kind: EntryKind.STEP, body: step(size * 1024 * 1024) }));
    const events = await all(runtime.runTurn(turn({ journaled: true, journal: mebibytes(6, 6, 4) })));
    expect(events.at(-1)?.event).toMatchObject({ case: 'done', value: { outcome: Outcome.COMPLETED } });
    const tooLarge = turn({ turnId: 'other', journaled: true, journal: mebibytes(6, 6, 5) });
    await expect(all(runtime.runTurn(tooLarge))).rejects.toEqual(code(Code.InvalidArgument));
  });

  it('rejects calls without a valid, current token for its workspace', async () => {
    const { clientWith } = await start();
    const foreignKey = createPrivateKey(generateCallKeys().privateKey);
    const invalid: Record<string, string | undefined> = {
      'no token': undefined,
      'another scheme': 'Basic dXNlcjpwYXNz',
      'no JWT': 'Bearer nonsense',
      'another workspace': `Bearer ${await callToken('another-workspace')}`,
      'another key': `Bearer ${await signCallToken(foreignKey, { subject: 'orchestrator', audience: WORKSPACE })}`,
      'an expired token': `Bearer ${expiredToken()}`,
    };
    for (const authorization of Object.values(invalid)) {
      const client = clientWith(authorization);
      await expect(client.identify({})).rejects.toEqual(code(Code.Unauthenticated));
      await expect(all(client.runTurn(turn()))).rejects.toEqual(code(Code.Unauthenticated));
      await expect(client.stopTurn({})).rejects.toEqual(code(Code.Unauthenticated));
      await expect(client.status({})).rejects.toEqual(code(Code.Unauthenticated));
    }
  });

  it('rejects an unauthenticated call without reading its body, and any oversized message', async () => {
    const { clientWith, runtime } = await start();
    const large = (mebibytes: number) =>
      turn({ history: [{ role: HistoryRole.USER, text: 'x'.repeat(mebibytes * 1024 * 1024) }] });
    await expect(all(clientWith(undefined).runTurn(large(5)))).rejects.toEqual(code(Code.Unauthenticated));
    await expect(all(runtime.runTurn(large(27)))).rejects.toEqual(code(Code.ResourceExhausted));
  });

  it('reports its health without a token', async () => {
    const { health: client } = await start();
    for (const service of ['', 'uswarm.runtime.v1.AgentRuntime']) {
      expect((await client.check({ service })).status).toBe(SERVING);
    }
    await expect(client.check({ service: 'unknown' })).rejects.toEqual(code(Code.NotFound));
  });

  it('runs a turn: contiguous events, chunks that add up to the reply, usage, done last', async () => {
    const { runtime } = await start();
    const events = await all(runtime.runTurn(turn()));
    expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => BigInt(index + 1)));
    const chunks = events.flatMap(({ event }) => (event.case === 'chunk' ? [event.value.text] : []));
    const done = events.at(-1)?.event;
    expect(done).toMatchObject({ case: 'done', value: { outcome: Outcome.COMPLETED, text: chunks.join('') } });
    expect(chunks.join('')).toMatch(/^\[demo\] .*nonce-4711/);
    const usage = events.flatMap(({ event }) => (event.case === 'usage' ? [event.value] : []));
    expect(usage).toMatchObject([{ step: 1, provider: 'demo', model: 'demo' }]);
  });

  it('continues a turn without followers and sends the rest to a client that returns', async () => {
    const { runtime } = await start({ USWARM_DEMO_DELAY_MS: '20' });
    const seen: TurnEvent[] = [];
    for await (const event of runtime.runTurn(turn())) {
      seen.push(event);
      if (event.event.case === 'chunk') break;
    }
    const rest = await all(runtime.runTurn(turn({ fromEvent: BigInt(seen.length) })));
    expect(rest.at(-1)?.event.case).toBe('done');
    expect([...seen, ...rest]).toEqual(await all(runtime.runTurn(turn())));
  });

  it('identifies turns by id and generation', async () => {
    const { runtime } = await start();
    await expect(all(runtime.runTurn(turn({ fromEvent: 2n })))).rejects.toEqual(code(Code.NotFound));
    await all(runtime.runTurn(turn({ generation: 2 })));
    await expect(all(runtime.runTurn(turn({ generation: 1 })))).rejects.toEqual(code(Code.FailedPrecondition));
    await expect(all(runtime.runTurn(turn({ generation: 2, fromEvent: 999n })))).rejects.toEqual(code(Code.OutOfRange));
    await expect(runtime.stopTurn({ turnId: 'unknown', generation: 1 })).rejects.toEqual(code(Code.NotFound));
  });

  it('rejects an incomplete or oversized turn', async () => {
    const { runtime } = await start();
    const invalid: Record<string, TurnInit> = {
      'no turn id': { turnId: '' },
      'no generation': { generation: 0 },
      'no agent': { agent: { id: '' } },
      'no history': { history: [] },
      'too many messages': { history: Array.from({ length: 1_001 }, () => ({ text: 'x' })) },
      'too much text': { history: [{ text: 'x'.repeat(512 * 1024 + 1) }] },
    };
    for (const init of Object.values(invalid)) {
      await expect(all(runtime.runTurn(turn(init)))).rejects.toEqual(code(Code.InvalidArgument));
    }
  });

  it('lists a running turn, stops it, and is idle afterwards', async () => {
    const running = await start(SLOW);
    const { rest } = await startTurn(running);
    expect(await running.runtime.status({})).toMatchObject({
      busy: true,
      idleMs: 0n,
      turns: [{ turnId: 'turn', generation: 1, agentId: 'agent' }],
    });
    await running.runtime.stopTurn({ turnId: 'turn', generation: 1 });
    expect((await rest).at(-1)?.event).toMatchObject({ case: 'done', value: { outcome: Outcome.STOPPED } });
    expect(await running.runtime.status({})).toMatchObject({ busy: false, turns: [] });
  });

  it('exits with 0 after the idle limit', async () => {
    const { exited } = await start({ USWARM_IDLE_EXIT_MS: '300' });
    expect(await exited).toEqual([0, null]);
  });

  it('counts a running turn as activity, but not unauthenticated calls', async () => {
    const running = await start({ USWARM_IDLE_EXIT_MS: '3000', USWARM_DEMO_DELAY_MS: '200' });
    // The turn has about 40 words and takes several times the limit.
    const events = await all(running.runtime.runTurn(turn()));
    expect(events.at(-1)?.event.case).toBe('done');
    const pestering = setInterval(
      () =>
        void running
          .clientWith(undefined)
          .identify({})
          .catch(() => undefined),
      50,
    );
    expect(await running.exited).toEqual([0, null]);
    clearInterval(pestering);
  });

  it('reports NOT_SERVING on SIGTERM, returns turns to the caller, and exits with 0', async () => {
    const running = await start(SLOW);
    const statuses: number[] = [];
    const watched = Promise.withResolvers<void>();
    const watching = (async () => {
      for await (const { status } of running.health.watch({ service: '' })) {
        statuses.push(status);
        watched.resolve();
      }
    })();
    await watched.promise;
    const { rest } = await startTurn(running);
    running.child.kill('SIGTERM');
    await expect(rest).rejects.toEqual(code(Code.Unavailable));
    await expect(watching).rejects.toEqual(code(Code.Unavailable));
    expect(statuses).toEqual([SERVING, NOT_SERVING]);
    expect(await running.exited).toEqual([0, null]);
  });

  /** Much longer than any test: a process that waits for all of it fails the test. */
  const LONG_GRACE = { USWARM_TERMINATION_GRACE_S: '3600' };

  it('finishes a running turn after SIGTERM, rejects other turns, and then exits', async () => {
    const running = await start({ ...LONG_GRACE, USWARM_DEMO_DELAY_MS: '100' });
    const { rest } = await startTurn(running);
    running.child.kill('SIGTERM');
    await eventually(async () => (await running.health.check({ service: '' })).status === NOT_SERVING);
    await expect(all(running.runtime.runTurn(turn({ turnId: 'another' })))).rejects.toEqual(code(Code.Unavailable));
    await expect(running.runtime.identify({})).rejects.toEqual(code(Code.Unavailable));
    const events = await rest;
    const chunks = events.flatMap(({ event }) => (event.case === 'chunk' ? [event.value.text] : []));
    expect(events.at(-1)?.event).toMatchObject({
      case: 'done',
      value: { outcome: Outcome.COMPLETED, text: chunks.join('') },
    });
    expect(await running.exited).toEqual([0, null]);
  });

  it('exits on SIGTERM immediately if no turn runs', async () => {
    const running = await start(LONG_GRACE);
    await all(running.runtime.runTurn(turn()));
    running.child.kill('SIGTERM');
    expect(await running.exited).toEqual([0, null]);
  });

  it('does not wait for a turn without followers, such as one of a deleted workspace', async () => {
    const running = await start({ ...LONG_GRACE, ...SLOW });
    const leave = new AbortController();
    const following = (async () => {
      for await (const { number } of running.runtime.runTurn(turn(), { signal: leave.signal })) {
        if (number === 1n) leave.abort();
      }
    })();
    await expect(following).rejects.toEqual(code(Code.Canceled));
    running.child.kill('SIGTERM');
    expect(await running.exited).toEqual([0, null]);
  });

  it('continues if its parent closes the output pipe', async () => {
    const { child, runtime } = await start({ LOG_LEVEL: 'info' });
    child.stdout?.destroy();
    child.stderr?.destroy();
    for (const turnId of ['one', 'two', 'three']) await all(runtime.runTurn(turn({ turnId })));
    expect(await runtime.status({})).toMatchObject({ busy: false });
  });

  it('exits with the names of missing settings', async () => {
    await expect(startRuntimeProcess({ USWARM_WORKSPACE_ID: '', USWARM_RUNTIME_PORT: 'x' })).rejects.toThrow(
      /USWARM_WORKSPACE_ID is not set\\nUSWARM_RUNTIME_PORT is not valid/,
    );
  });
});
