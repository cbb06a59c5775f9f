import { createPrivateKey } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { HistoryRole, Outcome } from '@uswarm/runtime-proto';
import { generateCallKeys, signCallToken } from '@uswarm/service-kit';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  buildRuntime,
  callToken,
  expiredToken,
  type RuntimeProcess,
  startRuntimeProcess,
  WORKSPACE,
} from '../test/runtime-process.js';

const MEMBER = 'member-1';
const OTHER_WORKSPACE = WORKSPACE.replace(/1$/, '2');
const UNAUTHENTICATED = expect.objectContaining({ code: Code.Unauthenticated });
const IN_POOL = { USWARM_WORKSPACE_ID: '', USWARM_USER_ID: '', USWARM_POOL_MEMBER: MEMBER };

const as = async ({ clientWith }: RuntimeProcess, audience: string) =>
  clientWith(`Bearer ${await callToken(audience)}`);

async function answer(running: RuntimeProcess): Promise<Outcome | undefined> {
  const request = {
    turnId: 'turn',
    generation: 1,
    agent: { id: 'agent', slug: 'manager', name: 'Mara' },
    history: [{ role: HistoryRole.USER, text: 'Hello' }],
    firstStep: 1,
  };
  for await (const { event } of running.runtime.runTurn(request)) if (event.case === 'done') return event.value.outcome;
  return undefined;
}

describe('the runtime of a pool', () => {
  let running: RuntimeProcess;
  beforeAll(buildRuntime);
  afterEach(() => running.end());

  it('serves the workspace that the orchestrator binds it to', async () => {
    running = await startRuntimeProcess(IN_POOL);
    const pool = await as(running, MEMBER);
    await pool.bind({ workspaceId: WORKSPACE });
    expect(await running.runtime.identify({})).toMatchObject({ workspaceId: WORKSPACE });
    expect(await answer(running)).toBe(Outcome.COMPLETED);
  });

  it('rejects every call but Bind before, also for a workspace', async () => {
    running = await startRuntimeProcess(IN_POOL);
    for (const audience of [WORKSPACE, MEMBER, '']) {
      const client = await as(running, audience);
      await expect(client.identify({})).rejects.toEqual(UNAUTHENTICATED);
      await expect(client.status({})).rejects.toEqual(UNAUTHENTICATED);
      await expect(client.summarize({})).rejects.toEqual(UNAUTHENTICATED);
    }
    await expect(answer(running)).rejects.toEqual(UNAUTHENTICATED);
  });

  it('is bound only by a token of the orchestrator for this member', async () => {
    running = await startRuntimeProcess(IN_POOL);
    const foreignKey = createPrivateKey(generateCallKeys().privateKey);
    const tokens = [
      await callToken('member-2'),
      await callToken(WORKSPACE),
      await signCallToken(foreignKey, { subject: 'orchestrator', audience: MEMBER }),
      expiredToken(MEMBER),
      'x.y.z',
    ];
    for (const token of tokens) {
      const client = running.clientWith(`Bearer ${token}`);
      await expect(client.bind({ workspaceId: WORKSPACE })).rejects.toEqual(UNAUTHENTICATED);
    }
    await expect(running.clientWith(undefined).bind({ workspaceId: WORKSPACE })).rejects.toEqual(UNAUTHENTICATED);
    await expect(running.runtime.identify({})).rejects.toEqual(UNAUTHENTICATED);
  });

  it('never serves a second workspace', async () => {
    running = await startRuntimeProcess(IN_POOL);
    const pool = await as(running, MEMBER);
    await pool.bind({ workspaceId: WORKSPACE });
    // The response to the first call can be lost.
    await pool.bind({ workspaceId: WORKSPACE });
    await expect(pool.bind({ workspaceId: OTHER_WORKSPACE })).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await expect(pool.identify({})).rejects.toEqual(UNAUTHENTICATED);
    await expect((await as(running, OTHER_WORKSPACE)).identify({})).rejects.toEqual(UNAUTHENTICATED);
    expect(await running.runtime.identify({})).toMatchObject({ workspaceId: WORKSPACE });
  });

  it('cannot be bound to no workspace', async () => {
    running = await startRuntimeProcess(IN_POOL);
    const pool = await as(running, MEMBER);
    await expect(pool.bind({})).rejects.toMatchObject({ code: Code.InvalidArgument });
    await pool.bind({ workspaceId: WORKSPACE });
  });

  it('waits in its pool however long it takes, and exits when it is idle afterwards', async () => {
    running = await startRuntimeProcess({ ...IN_POOL, USWARM_IDLE_EXIT_MS: '1' });
    const pool = await as(running, MEMBER);
    await pool.bind({ workspaceId: WORKSPACE });
    expect(await running.exited).toEqual([0, null]);
    expect(running.log()).toContain('idle timeout');
  });
});

describe('a runtime that was started for a workspace', () => {
  it('cannot be bound', async () => {
    const running = await startRuntimeProcess();
    try {
      for (const audience of [WORKSPACE, MEMBER, '']) {
        const client = await as(running, audience);
        await expect(client.bind({ workspaceId: OTHER_WORKSPACE })).rejects.toEqual(UNAUTHENTICATED);
      }
      expect(await running.runtime.identify({})).toMatchObject({ workspaceId: WORKSPACE });
    } finally {
      await running.end();
    }
  });
});
