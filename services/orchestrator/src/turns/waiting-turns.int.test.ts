import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMetrics } from '@uswarm/service-kit';
import { type RawBuilder, sql } from 'kysely';
import { copyWorkspace } from '../../test/copy-workspace.js';
import { FaultRun } from '../../test/faults/fault-run.js';
import { outcomes } from '../../test/faults/end-of-run.js';
import { APPROVED, type Schedule } from '../../test/faults/schedule.js';
import { createEffectsTable } from '../../test/faults/simulated-tools.js';
import { createIdleReconciler, IDLE_RUNTIME } from '../../test/idle-reconciler.js';
import { approvalsOf, createStores, type Stores } from '../../test/stores.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import type { WithTransaction } from '../platform/database/database.js';
import { createWithTransaction } from '../platform/database/transaction.js';
import { approvalExpiry } from './approvals/approvals.js';
import { RUNTIME_JOB } from '../records/runtime-requests.js';
import { TURN_JOB } from '../records/turn-job.js';

const WAITING = 10_000;
const ASKED: Schedule = { ...APPROVED, steps: [['save']] };

describe(`${WAITING} turns that wait for an approval`, () => {
  let uswarm: TestOrchestrator;
  let stores: Stores;
  let withTransaction: WithTransaction;
  let first: FaultRun;
  let second: FaultRun;
  let copies: string[] = [];

  const rows = async <Row>(query: RawBuilder<Row>): Promise<Row[]> => (await query.execute(uswarm.database)).rows;
  const count = async (query: RawBuilder<{ count: number }>): Promise<number> => (await rows(query))[0]?.count ?? 0;
  const openCards = (): Promise<number> =>
    count(sql`SELECT count(*)::int AS count FROM tool_approvals WHERE status = 'open'`);

  async function waitingTurn(): Promise<FaultRun> {
    const user = await uswarm.user();
    const run = new FaultRun(uswarm, user, await uswarm.home(user), ASKED);
    await run.untilItWaits();
    return run;
  }

  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    stores = createStores(uswarm.database);
    withTransaction = createWithTransaction(uswarm.database);
    await createEffectsTable(uswarm.database);
    first = await waitingTurn();
    second = await waitingTurn();
    copies = await copyWorkspace(uswarm.database, first.home.workspaceId, WAITING);
    await sql`ANALYZE`.execute(uswarm.database);
  });
  afterAll(() => uswarm?.close());

  it('invariant 7: have no job, and an idle orchestrator claims nothing', async () => {
    expect(await openCards()).toBe(WAITING + 2);
    expect(await count(sql`SELECT count(*)::int AS count FROM turns WHERE status IN ('queued', 'running')`)).toBe(0);
    expect(await count(sql`SELECT count(*)::int AS count FROM work WHERE kind = ${TURN_JOB}`)).toBe(0);
    expect(await stores.jobs.claim(TURN_JOB, 100, 1_000)).toEqual([]);
    expect(await stores.jobs.claimFairly(TURN_JOB, 100, 1_000, 10)).toEqual([]);
  });

  it('are copies of a turn as the product stores it', async () => {
    const counts = (workspaceId: string) =>
      rows(sql`
        SELECT (SELECT jsonb_agg(to_jsonb(t) - ARRAY['id', 'workspace_id', 'conversation_id', 'agent_id', 'user_message_id', 'reply_message_id'])
            FROM turns t WHERE workspace_id = ${workspaceId}) AS turns,
          (SELECT jsonb_agg(to_jsonb(a) - ARRAY['card_message_id', 'turn_id', 'conversation_id'])
            FROM tool_approvals a JOIN turns t ON t.id = a.turn_id WHERE t.workspace_id = ${workspaceId}) AS approvals,
          (SELECT jsonb_agg(to_jsonb(e) - ARRAY['turn_id'] ORDER BY number)
            FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE t.workspace_id = ${workspaceId}) AS entries,
          (SELECT count(*) FROM turn_contexts c JOIN turns t ON t.id = c.turn_id WHERE t.workspace_id = ${workspaceId}) AS contexts,
          (SELECT jsonb_agg(content ORDER BY seq) FROM messages WHERE workspace_id = ${workspaceId}) AS messages,
          (SELECT jsonb_agg(kind) FROM work WHERE workspace_id = ${workspaceId}) AS jobs`);
    expect(await counts(copies[WAITING - 1]!)).toEqual(await counts(first.home.workspaceId));
  });

  it('do not keep their runtimes from being suspended', async () => {
    const some = copies.slice(0, 20);
    const reconcile = createIdleReconciler(stores, withTransaction, createMetrics('test'));
    await sql`
      UPDATE runtimes SET desired = 'running', phase = 'Ready', address = ${IDLE_RUNTIME.address}, wanted_at = now() - interval '1 hour'
      WHERE workspace_id = ANY(${some}::uuid[])`.execute(uswarm.database);
    await sql`DELETE FROM work WHERE kind = ${RUNTIME_JOB} AND NOT workspace_id = ANY(${some}::uuid[])`.execute(
      uswarm.database,
    );
    await stores.jobs.ensureDue(RUNTIME_JOB, some, 0);
    for (const job of await stores.jobs.claim(RUNTIME_JOB, some.length, 60_000)) {
      await reconcile(job, new AbortController().signal);
    }
    expect(
      await rows(
        sql`SELECT desired, count(*)::int AS count FROM runtimes WHERE workspace_id = ANY(${some}::uuid[]) GROUP BY desired`,
      ),
    ).toEqual([{ desired: 'suspended', count: some.length }]);
  });

  it('expire one by one, so that no transaction locks many workspaces, and stop when the process does', async () => {
    const expired = 250;
    await sql`
      UPDATE tool_approvals SET expires_at = now() - interval '1 second' WHERE conversation_id IN (
        SELECT id FROM conversations WHERE workspace_id = ANY(${copies.slice(-expired)}::uuid[]))`.execute(
      uswarm.database,
    );
    const stopping = new AbortController();
    let transactions = 0;
    const withdrawn: number[] = [];
    const counting: WithTransaction = (run) =>
      withTransaction(async (tx) => {
        transactions += 1;
        if (transactions === 100) stopping.abort();
        const result = await run(tx);
        const { rows: closed } = await sql`
          SELECT FROM tool_approvals WHERE status = 'expired' AND decided_at = now()`.execute(tx);
        withdrawn.push(closed.length);
        return result;
      });
    const { handle } = approvalExpiry(approvalsOf(stores), counting);
    const job = { kind: '', subjectId: '', workspaceId: '', leaseId: '', attempts: 1, failures: 0, takenOver: false };
    expect(await handle(job, stopping.signal)).toEqual({ againInMs: 0 });
    expect(await openCards()).toBe(WAITING + 2 - 100);
    await handle(job, new AbortController().signal);
    expect(await openCards()).toBe(WAITING + 2 - expired);
    expect(Math.max(...withdrawn)).toBe(1);
    expect(
      await count(sql`
      SELECT count(*)::int AS count FROM turn_contexts c JOIN turns t ON t.id = c.turn_id
      WHERE t.workspace_id = ANY(${copies.slice(-expired)}::uuid[])`),
    ).toBe(0);
  });

  it('invariant 7: continue after a decision, among all the others', async () => {
    await first.act('approve');
    expect(await count(sql`SELECT count(*)::int AS count FROM work WHERE kind = ${TURN_JOB}`)).toBe(1);
    await first.runTurns();
    expect(await outcomes(first, uswarm.database)).toMatchObject([{ tool: 'save', executions: 1, told: 'done' }]);
  });

  it('invariant 7: are not answered before a later message, which withdraws their cards', async () => {
    const { workspaceId } = second.home;
    await second.act('write');
    await second.runTurns();
    const turns = sql<{ status: string; answered: string }>`
      SELECT t.status, m.content ->> 'text' AS answered FROM turns t JOIN messages m ON m.id = t.user_message_id
      WHERE t.workspace_id = ${workspaceId} ORDER BY t.id`;
    expect(await rows(turns)).toEqual([
      { status: 'done', answered: 'Do it' },
      { status: 'done', answered: 'Never mind' },
    ]);
    expect(
      await rows(
        sql`SELECT a.status FROM tool_approvals a JOIN turns t ON t.id = a.turn_id WHERE t.workspace_id = ${workspaceId}`,
      ),
    ).toEqual([{ status: 'superseded' }]);
    await second.act('approve');
    await second.runTurns();
    expect((await outcomes(second, uswarm.database)).filter(({ told }) => told !== undefined)).toEqual([]);
  });
});
