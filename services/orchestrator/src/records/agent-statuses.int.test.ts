import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AgentSummary } from '@uswarm/contract';
import { systemClock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { insertWorkspaces } from '../../test/bulk-data.js';
import { statementsOf } from '../../test/query-plans.js';
import { tasksOf } from '../../test/stores.js';
import { TURN_CONTEXT } from '../../test/turn-context.js';
import { useTurnFixture } from '../../test/turn-fixture.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import type { LeasedJob } from '../platform/jobs/job-queue.js';
import type { LiveEvent } from '../events/event-publisher.js';
import { agentStatusExpiry } from '../workspaces/agents/agent-status-expiry.js';
import { createAgentStatuses } from './agent-statuses.js';
import { findTurnsOfMessage, getTurn } from '../turns/turns.store.js';

const FAILED = { turnStatus: 'failed', messageStatus: 'failed', text: 'No.', errorCode: 'runtime_lost' } as const;
const RUNNING = new AbortController().signal;

describe('statuses of agents', () => {
  const world = useTurnFixture();
  let published: LiveEvent[];
  beforeEach(async () => {
    published = [];
    const publish = async (event: LiveEvent) => published.push(event) > 0;
    world.turnWorker.stores.statuses = createAgentStatuses({ publish, clock: systemClock });
    await setPhase('Ready');
  });

  const setPhase = (phase: 'Ready' | 'Suspended') =>
    world.uswarm.database
      .updateTable('runtimes')
      .set({ phase })
      .where('workspace_id', '=', world.home.workspaceId)
      .execute();
  const begin = async () => {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'go' } }, 201);
    const writer = await world.turnWorker.writerOf(await world.turnWorker.claim());
    return { writer, begun: await writer.begin() };
  };
  const seen = () => published.map(({ payload }) => payload as { status: string; expires_in_ms?: number });
  const shown = async () => {
    const { body } = await world.user.get<{ data: AgentSummary[] }>(`${world.home.workspace}/agents`);
    return body.data[0]?.status;
  };
  const age = async () => {
    const { database } = world.uswarm;
    const ofWorkspace = sql`WHERE workspace_id = ${world.home.workspaceId} AND activity_until IS NOT NULL`;
    await sql`UPDATE agents SET activity_until = now() ${ofWorkspace}`.execute(database);
    await sql`UPDATE turns SET activity_until = now() ${ofWorkspace}`.execute(database);
    await sql`UPDATE turns SET finished_at = finished_at - interval '5 minutes'
      WHERE workspace_id = ${world.home.workspaceId}`.execute(database);
  };
  const expire = () => {
    const { database } = world.uswarm;
    const withTransaction = createWithTransaction(database);
    const { statuses } = world.turnWorker.stores;
    return agentStatusExpiry({ withTransaction, database, statuses }).handle({} as LeasedJob, RUNNING);
  };

  it('are published with their end, after the event of the reply', async () => {
    const { writer, begun } = await begin();
    await writer.activity('thinking');
    await writer.finish(FAILED);
    expect(seen().map(({ status }) => status)).toEqual(['reading', 'thinking', 'error']);
    expect(published[0]).toMatchObject({
      event: 'agent.status',
      after_seq: begun.seq,
      payload: { agent_id: world.home.agents[0]?.id, conversation_id: world.home.conversationId },
    });
    const ends = seen().map(({ expires_in_ms: ms = 0 }) => Math.ceil(ms / 60_000));
    expect(ends).toEqual([2, 2, 5]);
  });

  it('are not published by a transaction that is rolled back', async () => {
    const { writer } = await begin();
    await sql`UPDATE work SET lease_expires_at = now() - interval '1 second' WHERE kind = 'turn'`.execute(
      world.uswarm.database,
    );
    await world.turnWorker.claim();
    await expect(writer.activity('writing')).rejects.toThrow();
    expect(seen().map(({ status }) => status)).toEqual(['reading']);
  });

  it('end by themselves, and the job publishes it once', async () => {
    const { writer } = await begin();
    await writer.finish(FAILED);
    expect(await shown()).toBe('error');
    await age();
    expect(await shown()).toBe('online');
    published.length = 0;
    await expire();
    await expire();
    expect(seen()).toEqual([expect.objectContaining({ status: 'online' })]);
    expect(seen()[0]).not.toHaveProperty('expires_in_ms');
  });

  it('become pending if no process renews the activity of a turn, and last if one does', async () => {
    const { writer } = await begin();
    await writer.activity('writing');
    await age();
    await writer.activity('writing');
    await expire();
    expect(await shown()).toBe('busy');
    await age();
    published.length = 0;
    await expire();
    expect(seen()).toMatchObject([{ status: 'pending', expires_in_ms: expect.any(Number) }]);
    expect(await shown()).toBe('pending');
    await writer.activity('writing');
    expect(await shown()).toBe('busy');
  });

  it('stay pending until the turn that continues a suspended one begins', async () => {
    const { writer, begun } = await begin();
    await writer.setInstance({ instance: { id: 'runtime', budgeted: false, context: TURN_CONTEXT }, untrusted: [] });
    await writer.suspend('One moment.', []);
    const { stores } = world.turnWorker;
    const [{ id } = { id: '' }] = await findTurnsOfMessage(stores.database, world.home.workspaceId, begun.replyId);
    const suspended = await getTurn(stores.database, id);
    if (suspended === undefined) throw new Error('the turn does not exist');
    published.length = 0;
    await createWithTransaction(world.uswarm.database)(async (tx) => {
      await tasksOf(stores).queue.continue(suspended, begun.seq, tx);
      await stores.statuses.refreshAgent(suspended.agent_id, tx, suspended.conversation_id);
    });
    expect(await shown()).toBe('pending');
    await (await world.turnWorker.writerOf(await world.turnWorker.claim())).begin();
    expect(seen().map(({ status }) => status)).toEqual(['reading']);
  });

  it('are limited by the state of the runtime, without an end of the activity', async () => {
    await setPhase('Suspended');
    await begin();
    expect(seen()).toEqual([expect.objectContaining({ status: 'offline' })]);
    expect(seen()[0]).not.toHaveProperty('expires_in_ms');
    expect(await shown()).toBe('offline');
  });

  it('let the job sleep until the next end, and at most a minute', async () => {
    await expire();
    expect(await expire()).toEqual({ againInMs: 60_000 });
    await begin();
    await sql`UPDATE agents SET activity_until = now() + interval '30 seconds'
      WHERE activity_until IS NOT NULL AND workspace_id = ${world.home.workspaceId}`.execute(world.uswarm.database);
    const { againInMs } = (await expire()) as { againInMs: number };
    expect(againInMs).toBeGreaterThan(1_000);
    expect(againInMs).toBeLessThanOrEqual(30_000);
  });

  it('cost idle workspaces nothing: one job only reads, whatever their number', async () => {
    await insertWorkspaces(world.uswarm.database, 1_000);
    await expire();
    const withTransaction = () => Promise.reject(new Error('a transaction was started'));
    const statements = await statementsOf(world.uswarm.database, (database) =>
      agentStatusExpiry({
        withTransaction,
        database,
        statuses: world.turnWorker.stores.statuses,
      }).handle({} as LeasedJob, RUNNING),
    );
    expect(statements.map(({ sql: text }) => text.trim().split(/\s/)[0])).toEqual(['SELECT', 'SELECT']);
  });
});
