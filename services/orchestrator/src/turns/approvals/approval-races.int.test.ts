import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { outcomes } from '../../../test/faults/end-of-run.js';
import { FaultRun } from '../../../test/faults/fault-run.js';
import { APPROVED } from '../../../test/faults/schedule.js';
import { createEffectsTable } from '../../../test/faults/simulated-tools.js';
import { approvalsOf, createStores } from '../../../test/stores.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';

const ROUNDS = 15;

describe('the decision on a call', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    await createEffectsTable(uswarm.database);
  });
  afterAll(() => uswarm?.close());

  async function waiting() {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const run = new FaultRun(uswarm, user, home, { ...APPROVED, steps: [['send']] });
    await run.untilItWaits();
    return { user, home, run };
  }
  const approvalOf = async (workspaceId: string) => {
    const { rows } = await sql<{ id: string; status: string; onTime: boolean }>`
      SELECT a.card_message_id AS id, a.status, a.decided_at < a.expires_at AS "onTime"
      FROM tool_approvals a JOIN messages m ON m.id = a.card_message_id WHERE m.workspace_id = ${workspaceId}`.execute(
      uswarm.database,
    );
    return rows[0]!;
  };
  const choose = (user: { headers: Record<string, string> }, workspaceId: string, card: string) =>
    uswarm.anonymous.with(user.headers).raw({
      method: 'POST',
      path: `/v1/workspaces/${workspaceId}/messages/${card}/action`,
      headers: { 'content-type': 'application/json' },
      body: '{"action_id":"approve"}',
    });

  it('invariant 5: counts as either, never as both, if the card expires at the same time', async () => {
    const approvals = approvalsOf(createStores(uswarm.database));
    const withTransaction = createWithTransaction(uswarm.database);
    for (let round = 0; round < ROUNDS; round += 1) {
      const { user, home, run } = await waiting();
      const { id } = await approvalOf(home.workspaceId);
      await sql`UPDATE tool_approvals SET expires_at = now() + ${round} * interval '1 millisecond' WHERE card_message_id = ${id}`.execute(
        uswarm.database,
      );
      const [answer] = await Promise.all([
        choose(user, home.workspaceId, id),
        withTransaction((tx) => approvals.expireNext(tx)),
      ]);
      while (await withTransaction((tx) => approvals.expireNext(tx)));
      await run.runTurns();
      const { status, onTime } = await approvalOf(home.workspaceId);
      const [call] = await outcomes(run, uswarm.database);
      const executions = call?.executions ?? 0;
      const isApproved = answer.status === 200;
      expect({ isApproved: status === 'approved', isInTime: status !== 'approved' || onTime, executions }).toEqual({
        isApproved,
        isInTime: true,
        executions: isApproved ? 1 : 0,
      });
      await uswarm.database.deleteFrom('tool_approvals').where('card_message_id', '=', id).execute();
    }
  });

  it('invariant 5: is made only by the owner of the workspace', async () => {
    const { home, run } = await waiting();
    const { id } = await approvalOf(home.workspaceId);
    const other = await uswarm.user();
    expect((await choose(other, home.workspaceId, id)).status).toBe(404);
    const elsewhere = await uswarm.home(other);
    expect((await choose(other, elsewhere.workspaceId, id)).status).toBe(404);
    await run.runTurns();
    expect(await outcomes(run, uswarm.database)).toMatchObject([{ executions: 0 }]);
    expect((await approvalOf(home.workspaceId)).status).toBe('open');
  });
});
