import { describe, expect, it } from '@jest/globals';
import { systemClock } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { CHARGED_CALL } from '../../../test/charged-call.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import type { WithTransaction } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createPlans } from '../../metering/plans.js';
import { createUsageLimits } from '../../metering/usage-limits.js';

const TEXT = { type: 'text', text: 'why?' } as const;
const TOOL = { type: 'tool_status', tool: 'web_search_tool', description: 'Searching', state: 'completed' } as const;
const CALL = { ...CHARGED_CALL, provider: 'p', model: 'm', promptTokens: 1 };
const COUNTED = { completionTokens: 1, cachedTokens: 0, reasoningTokens: 0, estimated: false };

describe('two turns of a user', () => {
  const world = useTurnFixture();

  /** `runs` counts transaction attempts. */
  async function startTurns() {
    const { uswarm, turnWorker, user, home } = world;
    const userId = await uswarm.idOf(user);
    const runs = { started: 0, ended: 0 };
    const once = createWithTransaction(uswarm.database);
    const withTransaction: WithTransaction = async (run) => {
      const result = await once((tx) => {
        runs.started += 1;
        return run(tx);
      });
      runs.ended += 1;
      return result;
    };
    const limits = createUsageLimits({
      database: uswarm.database,
      plans: createPlans([{ code: 'free', name: 'Free', token_limit: 1e9, workspace_token_limit: 1e9 }]),
      clock: systemClock,
    });
    const { body } = await user.post<{ data: { id: string } }>(
      `/v1/workspaces/${home.workspaceId}/conversations`,
      { type: 'agent', agent_id: home.agents[0]?.id, title: 'Second' },
      201,
    );
    const second = `/v1/workspaces/${home.workspaceId}/conversations/${body.data.id}/messages`;
    const turns = [];
    for (const path of [home.messages, second]) {
      await user.post(path, { content: TEXT }, 201);
      const work = await turnWorker.claim();
      turns.push({ writer: await turnWorker.writerOf(work, { withTransaction, limits }), id: work.subjectId });
    }
    const [first, other] = turns;
    if (first === undefined || other === undefined) throw new Error('there are not two turns');
    const callOf = ({ id }: typeof first) => ({
      ...CALL,
      turnId: id,
      usageTurnId: id,
      userId,
      workspaceId: home.workspaceId,
      step: 1,
    });
    const useTokens = (turn: typeof first): void =>
      turn.writer.usage({ ...callOf(turn), ...COUNTED }, 'unannounced', () => undefined);
    return { first, other, runs, callOf, useTokens };
  }

  /** Lets both writes wait for the workspace lock, in this order, and then releases it. */
  async function meet(writes: readonly (() => Promise<unknown>)[]): Promise<void> {
    const { database } = world.uswarm;
    const waiting: Promise<unknown>[] = [];
    await database.transaction().execute(async (tx) => {
      await sql`SELECT FROM workspaces WHERE id = ${world.home.workspaceId} FOR UPDATE`.execute(tx);
      for (const [index, write] of writes.entries()) {
        waiting.push(write());
        for (;;) {
          const { rows } = await sql<{ waits: number }>`
            SELECT count(*)::int AS waits FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database);
          if ((rows[0]?.waits ?? 0) > index) break;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    });
    await Promise.all(waiting);
  }

  it('do not deadlock if one begins while the other marks its message as read and reserves tokens', async () => {
    const { first, other, runs, callOf } = await startTurns();
    await first.writer.begin();
    await meet([
      () => {
        first.writer.markRead();
        return first.writer.reserve({ ...callOf(first), maxOutputTokens: 1 }, false);
      },
      () => other.writer.begin(),
    ]);
    expect(runs).toEqual({ started: 3, ended: 3 });
  });

  it('do not deadlock if one ends while the other stores a tool call and then its usage', async () => {
    const { first, other, runs, useTokens } = await startTurns();
    await first.writer.begin();
    await other.writer.begin();
    await meet([
      () => {
        first.writer.markRead();
        useTokens(first);
        return first.writer.tool({ callId: 'c', content: TOOL });
      },
      () => {
        useTokens(other);
        return other.writer.finish({
          turnStatus: 'done',
          messageStatus: 'delivered',
          text: 'Because.',
          errorCode: null,
        });
      },
    ]);
    expect(runs).toEqual({ started: 4, ended: 4 });
  });
});
