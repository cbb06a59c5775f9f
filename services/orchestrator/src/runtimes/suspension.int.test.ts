import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AgentSummary, BusEnvelope, MessageData, Workspace } from '@uswarm/contract';
import { createMetrics } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import type { WithTransaction } from '../platform/database/database.js';
import { createIdleReconciler, IDLE_RUNTIME } from '../../test/idle-reconciler.js';
import { untilBlocked } from '../../test/lock-waits.js';
import { createStores, type Stores } from '../../test/stores.js';
import { TURN_JOB } from '../records/turn-job.js';
import { createRuntimeMetrics } from './runtime-metrics.js';
import { createRuntimeRequests, RUNTIME_JOB } from '../records/runtime-requests.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import { updateRuntime, getRuntime, lockRuntime } from '../records/runtimes.store.js';
import * as runtimeRecords from '../records/runtimes.store.js';

const draft = (text: string) => ({ content: { type: 'text', text } });

describe('the runtime of an idle workspace', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  let events: BusEnvelope[];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RUNTIME_WORKERS: '4', TURN_WORKERS: '4', IDLE_SUSPEND_AFTER_S: '1' },
    });
    user = await uswarm.user();
    home = await uswarm.home(user);
    events = [];
    await uswarm.bus.subscribe(home.workspaceId, (envelope) => void events.push(envelope));
  });
  afterAll(() => uswarm.close());

  const workspace = async () => (await user.get<{ data: Workspace }>(home.workspace)).body.data;
  const shows = async (status: string) =>
    (await eventually(workspace, { until: ({ runtime }) => runtime.status === status, timeoutMs: 60_000 })).runtime;
  const processes = async () =>
    uswarm.database
      .selectFrom('runtime_processes')
      .select('pid')
      .where('workspace_id', '=', home.workspaceId)
      .execute();
  async function sendAndWait(text: string): Promise<string | undefined> {
    const sent = await user.post<{ data: MessageData }>(home.messages, draft(text), 201);
    const replies = async () =>
      (await user.get<{ data: MessageData[] }>(`${home.messages}?limit=2`)).body.data.find(
        ({ role, created_at }) => role === 'agent' && created_at >= sent.body.data.created_at,
      );
    return (await eventually(replies, { until: (reply) => reply?.status === 'delivered', timeoutMs: 40_000 }))?.status;
  }

  it('is suspended, and API and events show it as offline', async () => {
    expect(await sendAndWait('Are you there?')).toBe('delivered');
    events.length = 0;
    expect(await shows('offline')).toMatchObject({ phase: 'Pending', verified: true });
    const agents = (await user.get<{ data: AgentSummary[] }>(`${home.workspace}/agents`)).body.data;
    expect(new Set(agents.map(({ status }) => status))).toEqual(new Set(['offline']));
    const seen = () => ({
      updates: events.flatMap(({ event, payload }) => (event === 'workspace.updated' ? [payload as unknown] : [])),
      statuses: events.flatMap(({ event, payload }) =>
        event === 'agent.status' ? [(payload as { status: string }).status] : [],
      ),
    });
    const { updates, statuses } = await eventually(seen, {
      until: (all) => all.updates.length > 0 && all.statuses.length >= agents.length,
    });
    expect(updates[0]).toMatchObject({ workspace: { runtime: { status: 'offline', phase: 'Pending' } } });
    expect(statuses).toEqual(agents.map(() => 'offline'));
    expect(await eventually(processes, { until: ({ length }) => length === 0 })).toEqual([]);
  });

  it('is resumed by a message and completes its turn', async () => {
    await shows('offline');
    expect(await sendAndWait('And now?')).toBe('delivered');
  });

  it('is deleted with its account while it is suspended', async () => {
    await shows('offline');
    await user.delete('/v1/auth/delete', undefined, 204);
    const left = () =>
      uswarm.database.selectFrom('runtimes').select('phase').where('workspace_id', '=', home.workspaceId).execute();
    expect(await eventually(left, { until: ({ length }) => length === 0 })).toEqual([]);
  });
});

describe('a suspension concurrent with a message', () => {
  let uswarm: TestOrchestrator;
  let stores: Stores;
  let user: TestUser;
  let home: Home;
  let metrics: ReturnType<typeof createMetrics>;
  let withTransaction: WithTransaction;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    stores = createStores(uswarm.database);
    withTransaction = createWithTransaction(uswarm.database);
    metrics = createMetrics('test');
  });
  afterAll(() => uswarm.close());

  let reconcile: ReturnType<typeof createIdleReconciler>;
  beforeAll(() => {
    reconcile = createIdleReconciler(stores, withTransaction, metrics);
  });
  /** No other workspace has jobs, so the next claim gets this runtime's job. */
  async function idleWorkspace(): Promise<void> {
    user = await uswarm.user();
    home = await uswarm.home(user);
    await uswarm.database.deleteFrom('work').where('workspace_id', '!=', home.workspaceId).execute();
    await updateRuntime(stores.database, home.workspaceId, {
      phase: 'Ready',
      address: IDLE_RUNTIME.address,
      wanted_at: new Date(Date.now() - 3_600_000),
    });
  }
  beforeEach(idleWorkspace);

  /** With `mayBeTaken`, the job may be locked or deleted concurrently. */
  async function reconcileNow({ mayBeTaken = false } = {}): Promise<void> {
    await stores.jobs.makeDueNow(RUNTIME_JOB, home.workspaceId);
    // A concurrent transaction can lock the job briefly.
    const claim = () => stores.jobs.claim(RUNTIME_JOB, 1, 60_000);
    const [job] = mayBeTaken ? await claim() : await eventually(claim, { until: ({ length }) => length > 0 });
    if (job === undefined && mayBeTaken) return;
    if (job === undefined) throw new Error('the job is already claimed');
    try {
      await reconcile(job, new AbortController().signal);
    } finally {
      await stores.jobs.release(job, 0);
    }
  }
  const desired = async () => (await getRuntime(stores.database, home.workspaceId))?.desired;

  it('does not happen while the message is being stored', async () => {
    const requests = createRuntimeRequests({
      store: runtimeRecords,
      jobs: stores.jobs,
      makeDueNow: async () => undefined,
      metrics: createRuntimeMetrics(createMetrics('test')),
    });
    let reconciling: Promise<void> | undefined;
    await withTransaction(async (tx) => {
      expect(await requests.ensureResumed(home.workspaceId, tx)).toBe(false);
      reconciling = reconcileNow();
      await untilBlocked(uswarm.database);
      const { workspaceId, conversationId } = home;
      const turn = { kind: TURN_JOB, subjectId: crypto.randomUUID(), workspaceId, serialKey: conversationId };
      await stores.jobs.enqueue(turn, tx);
    });
    await reconciling;
    expect(await desired()).toBe('running');
    await stores.jobs.cancel(TURN_JOB, home.workspaceId, uswarm.database);
    await reconcileNow();
    expect(await desired()).toBe('suspended');
  });

  it('completes first if the message arrives later, and the message resumes the runtime', async () => {
    let sending: Promise<unknown> | undefined;
    await withTransaction(async (tx) => {
      await lockRuntime(tx, home.workspaceId);
      await updateRuntime(tx, home.workspaceId, { desired: 'suspended', phase: 'Suspended' });
      sending = user.post(home.messages, draft('wake up'), 201);
      await untilBlocked(uswarm.database);
    });
    await sending;
    expect(await desired()).toBe('running');
  });

  it('leaves the desired state running for a stored message in any order', async () => {
    for (let round = 0; round < 25; round += 1) {
      await Promise.all([reconcileNow(), user.post(home.messages, draft(`round ${round}`), 201)]);
      expect(await desired()).toBe('running');
      await stores.jobs.cancel(TURN_JOB, home.workspaceId, uswarm.database);
      await uswarm.database.updateTable('turns').set({ status: 'done' }).execute();
      await updateRuntime(stores.database, home.workspaceId, { phase: 'Ready', wanted_at: new Date(0) });
    }
  });

  it('causes no deadlock with a concurrent account deletion', async () => {
    for (let round = 0; round < 8; round += 1) {
      await idleWorkspace();
      await reconcileNow();
      const send = () =>
        user.raw({
          method: 'POST',
          path: home.messages,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(draft('hello')),
        });
      const [first, , second] = await Promise.all([
        send(),
        reconcileNow({ mayBeTaken: true }),
        send(),
        user.delete('/v1/auth/delete', undefined, 204),
      ]);
      expect([first.status, second.status].filter((status) => status >= 500)).toEqual([]);
      // The concurrent reconcile may have deleted the runtime already.
      if ((await desired()) !== undefined) await reconcileNow();
      expect(await desired()).toBeUndefined();
    }
  });

  it('is counted in the metrics', async () => {
    await reconcileNow();
    const text = await metrics.metrics();
    expect(text).toMatch(/uswarm_runtime_suspensions_total\{component="test"\} [1-9]/);
  });
});
