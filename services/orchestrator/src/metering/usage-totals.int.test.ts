import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, MessagePage, UserUsageSummary, WorkspaceUsage } from '@uswarm/contract';
import { type ModelServer, type ModelStep, startModelServer, words } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const PLANS = [
  { code: 'free', name: 'Free', token_limit: 1_000_000, workspace_token_limit: 1_000_000 },
  { code: 'small', name: 'Small', token_limit: 100, workspace_token_limit: 100 },
];
const USERS = 3;
const MESSAGES = 4;

/** Responses with different token counts. Every fifth call fails, permanently or retryably, without usage. */
const priced = (index: number): ModelStep[] =>
  index % 5 === 4
    ? [{ error: { status: index % 2 === 0 ? 503 : 403, message: 'not now' } }]
    : [...words(`answer ${index}`), { usage: { prompt: 100 + 7 * index, completion: 1 + (index % 3) } }];

const HOLD = 'until the other messages are sent';
const HELD = `a greedy message, held ${HOLD}`;

/** Requests a tool and exceeds a small plan's limit. The next call hangs, so only the limit ends the turn. */
const greedy = (request: { messages: readonly { role: string }[] }): ModelStep[] =>
  request.messages.some(({ role }) => role === 'tool')
    ? [{ hang: true }]
    : [
        ...(JSON.stringify(request).includes(HELD) ? [{ hold: HOLD }] : []),
        { text: 'Let me see.' },
        { toolCalls: [{ name: 'web_search_tool', arguments: { query: 'tea' } }] },
        { usage: { prompt: 150, completion: 10 } },
      ];

describe('usage of real turns', () => {
  let model: ModelServer;
  let uswarm: TestOrchestrator;
  const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
  beforeAll(async () => {
    model = await startModelServer({
      script: (request, index) => (JSON.stringify(request).includes('greedy') ? greedy(request) : priced(index)),
    });
    const plansFile = path.join(directory, 'plans.json');
    writeFileSync(plansFile, JSON.stringify(PLANS));
    uswarm = await startTestOrchestrator({
      environment: {
        PLANS_FILE: plansFile,
        RUNTIME_WORKERS: '4',
        TURN_WORKERS: '16',
        OPENAI_BASE_URL: model.baseUrl,
        OPENAI_API_KEY: 'test',
        OPENAI_MODEL: 'scripted',
      },
    });
  });
  afterAll(async () => {
    await uswarm.close();
    await model.close();
    rmSync(directory, { recursive: true });
  });

  const person = async () => {
    const user = await uswarm.user();
    return { user, home: await uswarm.home(user) };
  };
  const summary = async (user: TestUser) =>
    (await user.get<{ data: UserUsageSummary }>('/v1/users/usage/summary')).body.data;
  const ofWorkspace = async (user: TestUser, { workspace }: Home) =>
    (await user.get<{ data: WorkspaceUsage }>(`${workspace}/usage`)).body.data;
  const ended = async (count: number) =>
    eventually(
      () => uswarm.database.selectFrom('turns').select(['id', 'status']).where('finished_at', 'is not', null).execute(),
      { until: (rows) => rows.length >= count, timeoutMs: 60_000 },
    );
  const add = (key: 'tokens_used' | 'prompt_tokens_used' | 'completion_tokens_used' | 'request_count') => {
    return (sum: number, used: Pick<UserUsageSummary, typeof key>) => sum + used[key];
  };

  it('equals what the model server reported, with concurrent turns, failing calls and repeated messages', async () => {
    const people = await Promise.all(Array.from({ length: USERS }, person));
    // Each message is sent three times concurrently with the same local_id, like client retries. Messages that wait in one
    // conversation would be answered together.
    const sends = people.flatMap(({ user, home: { workspace } }) =>
      Array.from({ length: MESSAGES }, async (_, n) => {
        const { body: created } = await user.post<{ data: { id: string } }>(
          `${workspace}/conversations`,
          { type: 'swarm' },
          201,
        );
        const messages = `${workspace}/conversations/${created.data.id}/messages`;
        const body = { local_id: `${n}`, content: { type: 'text', text: `message ${n}` } };
        return Promise.all(Array.from({ length: 3 }, () => user.post<{ data: MessageData }>(messages, body, 201)));
      }),
    );
    await Promise.all(sends);
    const turns = await ended(USERS * MESSAGES);
    expect(turns).toHaveLength(USERS * MESSAGES);
    expect(new Set(turns.map(({ status }) => status))).toEqual(new Set(['done', 'failed']));

    const users = await Promise.all(people.map(({ user }) => summary(user)));
    const workspaces = await Promise.all(people.map(({ user, home }) => ofWorkspace(user, home)));
    const { answers, promptTokens, completionTokens } = model.usageReported;
    expect(answers).toBeGreaterThan(0);
    for (const used of [users, workspaces]) {
      expect({
        answers: used.reduce(add('request_count'), 0),
        promptTokens: used.reduce(add('prompt_tokens_used'), 0),
        completionTokens: used.reduce(add('completion_tokens_used'), 0),
      }).toEqual({ answers, promptTokens, completionTokens });
      expect(used.reduce(add('tokens_used'), 0)).toBe(promptTokens + completionTokens);
    }
  });

  it('stops a turn in which it reaches the limit: a system message reports it, the turn fails, and its usage counts', async () => {
    const { user, home } = await person();
    await uswarm.database.updateTable('users').set({ plan_code: 'small' }).where('email', '=', user.email).execute();
    const before = { ...model.usageReported };
    const message = { content: { type: 'text', text: 'a greedy message' } };
    await user.post(home.messages, message, 201);
    const turn = () =>
      uswarm.database
        .selectFrom('turns')
        .select(['status', 'error_code'])
        .where('workspace_id', '=', home.workspaceId)
        .executeTakeFirstOrThrow();
    const last = await eventually(turn, { until: ({ status }) => status === 'failed', timeoutMs: 60_000 });
    expect(last).toEqual({ status: 'failed', error_code: 'token_limit_reached' });

    const { body } = await user.get<MessagePage>(`${home.messages}?direction=forward`);
    const system = body.data.filter(({ role }) => role === 'system');
    expect(system).toMatchObject([
      { content: { type: 'system', text: expect.stringContaining('token limit') }, agent: null },
    ]);
    const reply = body.data.find(({ role, content }) => role === 'agent' && content.type === 'text');
    expect(reply).toMatchObject({ status: 'failed', content: { text: 'Let me see.' } });
    // The stop comes before the first call's results are stored, so there is no second call.
    const { answers, promptTokens, completionTokens } = model.usageReported;
    expect(await summary(user)).toMatchObject({
      request_count: answers - before.answers,
      tokens_used: promptTokens + completionTokens - before.promptTokens - before.completionTokens,
      token_limit: 100,
    });
    expect(answers - before.answers).toBe(1);
    expect(await user.refusal('POST', home.messages, message)).toBe('token_limit_reached');
  });

  it('prevents queued turns from starting if it reaches the limit', async () => {
    const { user, home } = await person();
    await uswarm.database.updateTable('users').set({ plan_code: 'small' }).where('email', '=', user.email).execute();
    const earlier = model.requests.length;
    // To different agents: messages to one agent that wait are answered together.
    for (const text of [HELD, '@researcher a second one', '@writer a third one']) {
      await user.post(home.messages, { content: { type: 'text', text } }, 201);
    }
    model.release(HOLD);
    const rows = await eventually(
      () =>
        uswarm.database
          .selectFrom('turns')
          .select('error_code')
          .where('workspace_id', '=', home.workspaceId)
          .where('status', '=', 'failed')
          .execute(),
      { until: (failed) => failed.length === 3, timeoutMs: 60_000 },
    );
    expect(rows.map(({ error_code }) => error_code)).toEqual(Array(3).fill('token_limit_reached'));
    const texts = model.requests.slice(earlier).map(({ body }) => JSON.stringify(body.messages));
    expect(texts.filter((text) => text.includes('a second one') || text.includes('a third one'))).toEqual([]);
    const { body } = await user.get<MessagePage>(`${home.messages}?direction=forward`);
    expect(body.data.filter(({ role }) => role === 'system')).toHaveLength(1);
  });
});
