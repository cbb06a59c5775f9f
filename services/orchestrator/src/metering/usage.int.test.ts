import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorBody, MessageData, UserUsageSummary, WorkspaceUsage } from '@uswarm/contract';
import { allRows } from '../../test/database-rows.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { loadPlans } from '../platform/core/catalog.js';
import { createPlans } from './plans.js';
import { nextPeriodAt, periodOf } from './period.js';
import { createUsageService } from './usage.service.js';

const SUMMARY = '/v1/users/usage/summary';
const PLANS = [
  { code: 'free', name: 'Free', token_limit: 1_000, workspace_token_limit: 700 },
  { code: 'pro', name: 'Pro', token_limit: 100_000, workspace_token_limit: 50_000 },
];

interface Entry {
  prompt: number;
  completion: number;
  at?: string;
  turnId?: string;
  step?: number;
}

describe('usage', () => {
  let uswarm: TestOrchestrator;
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
  const plansFile = path.join(directory, 'plans.json');
  beforeAll(async () => {
    writeFileSync(plansFile, JSON.stringify(PLANS));
    uswarm = await startTestOrchestrator({ environment: { PLANS_FILE: plansFile } });
  });
  afterAll(async () => {
    await uswarm.close();
    rmSync(directory, { recursive: true });
  });

  const idOf = async ({ email }: TestUser) =>
    (await uswarm.database.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()).id;
  const summary = async (user: TestUser) => (await user.get<{ data: UserUsageSummary }>(SUMMARY)).body.data;
  const ofWorkspace = async (user: TestUser, { workspace }: Home) =>
    (await user.get<{ data: WorkspaceUsage }>(`${workspace}/usage`)).body.data;
  const person = async () => {
    const user = await uswarm.user();
    return { user, home: await uswarm.home(user), userId: await idOf(user) };
  };
  const addWorkspace = async (userId: string) => {
    const id = crypto.randomUUID();
    await uswarm.database.insertInto('workspaces').values({ id, owner_id: userId, name: 'Another' }).execute();
    return id;
  };
  const use = (userId: string, workspaceId: string, { prompt, completion, at, turnId, step = 1 }: Entry) =>
    uswarm.database
      .insertInto('usage_entries')
      .values({
        turn_id: turnId ?? crypto.randomUUID(),
        step,
        user_id: userId,
        workspace_id: workspaceId,
        provider: 'p',
        model: 'm',
        prompt_tokens: prompt,
        completion_tokens: completion,
        ...(at === undefined ? {} : { created_at: at }),
      })
      .onConflict((conflict) => conflict.columns(['turn_id', 'step']).doNothing())
      .execute();

  it('REST-014 RES-029 LIM-004 GET /v1/users/usage/summary returns the usage of the caller in this month, and the plan', async () => {
    const { user, home, userId } = await person();
    const otherUser = await person();
    await use(userId, home.workspaceId, { prompt: 40, completion: 2 });
    await use(userId, home.workspaceId, { prompt: 7, completion: 5 });
    await use(otherUser.userId, otherUser.home.workspaceId, { prompt: 1, completion: 1 });
    expect(await summary(user)).toEqual({
      current_period: periodOf(new Date()),
      tokens_used: 54,
      prompt_tokens_used: 47,
      completion_tokens_used: 7,
      request_count: 2,
      token_limit: 1_000,
      plan_id: 'free',
    });
  });

  it('REST-014 is zero for a user without usage', async () => {
    expect(await summary(await uswarm.user())).toMatchObject({ tokens_used: 0, request_count: 0, token_limit: 1_000 });
  });

  it('REST-017 RES-030 LIM-004 GET /v1/workspaces/{id}/usage returns the usage of that workspace only', async () => {
    const { user, home, userId } = await person();
    const other = await addWorkspace(userId);
    await use(userId, home.workspaceId, { prompt: 40, completion: 2 });
    await use(userId, other, { prompt: 100, completion: 10 });
    expect(await ofWorkspace(user, home)).toEqual({
      period: periodOf(new Date()),
      tokens_used: 42,
      prompt_tokens_used: 40,
      completion_tokens_used: 2,
      request_count: 1,
      token_limit: 700,
    });
    expect((await summary(user)).tokens_used).toBe(152);
  });

  it('REST-017 has the same error for a workspace of another user as for an unknown one', async () => {
    const [{ home }, { user }] = [await person(), await person()];
    for (const route of [`${home.workspace}/usage`, `/v1/workspaces/${crypto.randomUUID()}/usage`]) {
      expect(await user.refusal('GET', route)).toBe('workspace_not_found');
    }
  });

  it('still counts for the owner of a deleted workspace', async () => {
    const { user, userId } = await person();
    const gone = await addWorkspace(userId);
    await use(userId, gone, { prompt: 5, completion: 5 });
    await uswarm.database.deleteFrom('workspaces').where('id', '=', gone).execute();
    expect((await summary(user)).tokens_used).toBe(10);
  });

  it('counts a step once although it is reported repeatedly and concurrently', async () => {
    const { user, home, userId } = await person();
    const steps = [1, 2, 3].map((step) => ({ turnId: crypto.randomUUID(), step, prompt: 10, completion: 1 }));
    await Promise.all(
      Array.from({ length: 10 }, () => steps).flatMap((all) =>
        all.map((entry) => use(userId, home.workspaceId, entry)),
      ),
    );
    expect(await ofWorkspace(user, home)).toMatchObject({ tokens_used: 33, request_count: 3 });
  });

  it('counts all concurrent steps', async () => {
    const { user, home, userId } = await person();
    await Promise.all(Array.from({ length: 100 }, () => use(userId, home.workspaceId, { prompt: 3, completion: 1 })));
    expect(await summary(user)).toMatchObject({
      prompt_tokens_used: 300,
      completion_tokens_used: 100,
      request_count: 100,
    });
  });

  describe('the period', () => {
    const at = (now: string) =>
      createUsageService({
        database: uswarm.database,
        plans: createPlans(loadPlans(plansFile)),
        clock: { now: () => new Date(now) },
      });

    it.each([
      ['2028-02-29T23:59:59.999Z', '2028-02', 1],
      ['2028-03-01T00:00:00.000Z', '2028-03', 2],
      ['2028-03-31T23:59:59.999Z', '2028-03', 2],
      ['2028-04-01T00:00:00.000Z', '2028-04', 4],
    ])('is the month in UTC: at %s it is %s', async (now, period, tokens) => {
      const { home, userId } = await person();
      const uses: [string, number][] = [
        // This is the last second of February in UTC: the time zone has no effect.
        ['2028-03-01T01:59:59.999+02:00', 1],
        ['2028-03-01T00:00:00.000Z', 2],
        ['2028-03-31T20:00:00.000-04:00', 4],
      ];
      for (const [when, prompt] of uses) await use(userId, home.workspaceId, { prompt, completion: 0, at: when });
      expect(await at(now).ofUser(userId)).toMatchObject({ current_period: period, tokens_used: tokens });
      expect(await at(now).ofWorkspace(userId, home.workspaceId)).toMatchObject({ period, tokens_used: tokens });
    });
  });

  describe('the limit', () => {
    const setPlan = (userId: string, plan_code: string, plan_expires_at: string | null = null) =>
      uswarm.database.updateTable('users').set({ plan_code, plan_expires_at }).where('id', '=', userId).execute();
    const send = (user: TestUser, { messages }: Home, localId?: string) =>
      user.raw<ErrorBody & { data: MessageData }>({
        method: 'POST',
        path: messages,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ content: { type: 'text', text: 'hi' }, local_id: localId }),
      });

    it('LIM-004 is the limit of the plan', async () => {
      const { user, home, userId } = await person();
      await setPlan(userId, 'pro');
      expect(await summary(user)).toMatchObject({ token_limit: 100_000, plan_id: 'pro' });
      expect(await ofWorkspace(user, home)).toMatchObject({ token_limit: 50_000 });
    });

    it('is the limit of the free plan after the plan has expired', async () => {
      const { user, userId } = await person();
      await setPlan(userId, 'pro', '2026-01-01T00:00:00Z');
      expect(await summary(user)).toMatchObject({ token_limit: 1_000, plan_id: 'free' });
    });

    it.each([
      ['user', [600, 400]],
      ['workspace', [700, 0]],
    ] as const)(
      'rejects a message before anything is stored: the limit of the %s',
      async (scope, [here, elsewhere]) => {
        const { user, home, userId } = await person();
        await use(userId, home.workspaceId, { prompt: here, completion: 0 });
        await use(userId, await addWorkspace(userId), { prompt: elsewhere, completion: 0 });
        const before = await allRows(uswarm.database);
        expect(await send(user, home)).toMatchObject({
          status: 429,
          body: {
            code: 'token_limit_reached',
            extra: {
              scope,
              token_limit: scope === 'user' ? 1_000 : 700,
              resets_at: nextPeriodAt(new Date()).toISOString(),
            },
          },
        });
        expect(await allRows(uswarm.database)).toEqual(before);
      },
    );

    it('accepts a message while one token is left', async () => {
      const { user, home, userId } = await person();
      await use(userId, home.workspaceId, { prompt: 699, completion: 0 });
      expect((await send(user, home)).status).toBe(201);
    });

    it('does not affect other workspaces if it is set for one', async () => {
      const { user, home, userId } = await person();
      await use(userId, await addWorkspace(userId), { prompt: 900, completion: 0 });
      expect((await send(user, home)).status).toBe(201);
    });

    it('applies to the current month only', async () => {
      const { user, home, userId } = await person();
      await use(userId, home.workspaceId, { prompt: 5_000, completion: 0, at: '2026-01-15T00:00:00Z' });
      expect((await send(user, home)).status).toBe(201);
    });

    it('does not affect the replay of a message with the same local_id', async () => {
      const { user, home, userId } = await person();
      const localId = crypto.randomUUID();
      const sent = await send(user, home, localId);
      await use(userId, home.workspaceId, { prompt: 5_000, completion: 0 });
      const again = await send(user, home, localId);
      expect(again.status).toBe(201);
      expect(again.body.data.id).toEqual(sent.body.data.id);
    });

    it('increases immediately after a change of plan', async () => {
      const { user, home, userId } = await person();
      await use(userId, home.workspaceId, { prompt: 5_000, completion: 0 });
      expect((await send(user, home)).status).toBe(429);
      await setPlan(userId, 'pro');
      expect((await send(user, home)).status).toBe(201);
    });

    it('does not affect other requests', async () => {
      const { user, home, userId } = await person();
      await use(userId, home.workspaceId, { prompt: 5_000, completion: 0 });
      expect((await user.get(home.messages)).status).toBe(200);
      expect((await summary(user)).tokens_used).toBe(5_000);
    });
  });
});
