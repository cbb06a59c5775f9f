import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, Workspace } from '@uswarm/contract';
import { type ModelServer, startModelServer, words } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { TURN_JOB } from '../records/turn-job.js';

const HOLD = 'middle of the answer';

describe('an orchestrator with a place for one runtime', () => {
  let model: ModelServer;
  let uswarm: TestOrchestrator;
  let first: { user: TestUser; home: Home };
  let second: { user: TestUser; home: Home };
  beforeAll(async () => {
    model = await startModelServer({
      script: (request) => [
        ...words('one two '),
        ...(JSON.stringify(request).includes('slowly') ? [{ hold: HOLD }] : []),
        ...words('three four'),
        { usage: { prompt: 10, completion: 4 } },
      ],
    });
    uswarm = await startTestOrchestrator({
      environment: {
        RUNTIME_WORKERS: '4',
        TURN_WORKERS: '4',
        RUNTIME_MAX_PROCESSES: '1',
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_API_KEY: 'test',
        OPENAI_MODEL: 'scripted',
      },
    });
    first = await person();
    second = await person();
  });
  afterAll(async () => {
    await uswarm?.close();
    await model?.close();
  });

  const person = async () => {
    const user = await uswarm.user();
    return { user, home: await uswarm.home(user) };
  };
  const ask = ({ user, home }: typeof first, text: string) =>
    user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201);
  const answers = async ({ user, home }: typeof first) =>
    (await user.get<{ data: MessageData[] }>(home.messages)).body.data.filter(({ role }) => role === 'agent');
  const answered = (whom: typeof first, count: number) =>
    eventually(() => answers(whom), {
      until: (all) => all.filter(({ status }) => status === 'delivered').length === count,
      timeoutMs: 60_000,
    });
  const shown = async ({ user, home }: typeof first) =>
    (await user.get<{ data: Workspace }>(home.workspace)).body.data.runtime;
  const runtime = ({ home }: typeof first) =>
    uswarm.database
      .selectFrom('runtimes')
      .select(['desired', 'phase', 'reason'])
      .where('workspace_id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
  const processes = async () =>
    (await uswarm.database.selectFrom('runtime_processes').select('workspace_id').execute()).map(
      ({ workspace_id: workspaceId }) => workspaceId,
    );

  it('lets a turn wait for the place without polling while the other runtime is busy', async () => {
    await ask(first, 'Count slowly');
    await model.reached(HOLD);
    await ask(second, 'Count');
    const queued = await eventually(() => runtime(second), { until: ({ reason }) => reason === 'Queued' });
    expect(queued).toEqual({ desired: 'running', phase: 'Progressing', reason: 'Queued' });
    expect(await shown(second)).toMatchObject({ status: 'provisioning', phase: 'Progressing' });
    expect(await shown(first)).toMatchObject({ status: 'ready' });
    expect(await processes()).toEqual([first.home.workspaceId]);
    const waiting = () =>
      uswarm.database
        .selectFrom('work')
        .select(['lease_id', 'run_at'])
        .where('workspace_id', '=', second.home.workspaceId)
        .where('kind', 'in', [TURN_JOB, 'runtime'])
        .execute();
    const inAMinute = Date.now() + 60_000;
    const jobs = await eventually(waiting, {
      until: (all) => all.every(({ lease_id: lease, run_at: runAt }) => lease === null && runAt.getTime() > inAMinute),
    });
    expect(jobs).toHaveLength(2);
  });

  it('suspends the idle runtime after its turn, and answers the turn that waits', async () => {
    model.release(HOLD);
    await answered(first, 1);
    await answered(second, 1);
    expect(await shown(first)).toMatchObject({ status: 'offline', phase: 'Pending' });
    expect(await processes()).toEqual([second.home.workspaceId]);
  });

  it('resumes the suspended runtime for a message', async () => {
    await ask(first, 'Count again');
    await answered(first, 2);
    expect(await runtime(second)).toMatchObject({ desired: 'suspended', phase: 'Suspended' });
    expect(await processes()).toEqual([first.home.workspaceId]);
  });
});
