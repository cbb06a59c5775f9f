import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData, UsageReportPage } from '@uswarm/contract';
import { type ModelServer, type ModelServerRequest, type ModelStep, startModelServer } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

/** What the model of an agent does: `results` are the results of its tool calls so far. */
type Behaviour = (agent: string, prompt: string, results: readonly string[]) => ModelStep[];

const textOf = ({ content }: ModelServerRequest['messages'][number]): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

const delegate = (...agents: string[]): ModelStep[] => [
  {
    toolCalls: agents.map((agent) => ({
      name: 'delegate',
      arguments: { agent, task: `Find facts for ${agent}`, expected: 'One sentence', context: 'A test' },
    })),
  },
];

const isTask = (prompt: string): boolean => prompt.includes('You work on a task of your colleague');

describe('a manager that delegates', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let behave: Behaviour;
  /** The agents that called the model, in order. */
  let calls: string[];

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        const agent = /\(@([\w-]+)\)/.exec(textOf(messages[0]!))?.[1] ?? '';
        calls.push(agent);
        const prompt = textOf(messages.findLast(({ role }) => role === 'user')!);
        const results = messages.filter(({ role }) => role === 'tool').map(textOf);
        return behave(agent, prompt, results);
      },
    });
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
    });
  });
  beforeEach(async () => {
    client?.close();
    calls = [];
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token, eventDeadlineMs: 15_000 });
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
    await model?.close();
  });

  async function listed(): Promise<MessageData[]> {
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    return ((await client.api('GET', `${path}?direction=forward`)).body as { data: MessageData[] }).data;
  }

  const delegations = async () =>
    (await listed()).flatMap(({ id, content }) => (content.type === 'delegation' ? [{ id, ...content }] : []));

  const answer = (text: string) =>
    client.saw('message.updated', ({ message }: { message: MessageData }) => {
      const { content, status } = message;
      return content.type === 'text' && content.text === text && status === 'delivered';
    });

  /** Checks that tasks keep exactly the tokens that they used. @returns their number, and whether the answer has tokens left */
  async function budgets() {
    const turns = await services.query<{ depth: number | null; budget: string; used: string }>(
      `SELECT task.depth, t.tokens_budget AS budget,
         (SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM usage_entries e
          WHERE e.turn_id = coalesce(t.first_turn_id, t.id)) AS used
       FROM turns t LEFT JOIN turn_tasks task ON task.turn_id = t.id WHERE t.workspace_id = $1 ORDER BY t.id DESC`,
      [client.workspaceId],
    );
    const tasks = turns.filter(({ depth }) => depth !== null);
    for (const { budget, used } of tasks) expect(budget).toBe(used);
    // The newest one: the turn that continued, if the tasks had not ended before it was suspended.
    const answering = turns.find(({ depth }) => depth === null);
    return { tasks: tasks.length, left: Number(answering?.budget) > Number(answering?.used) };
  }

  async function expectNothingLeft(): Promise<void> {
    const left = () =>
      services.query(
        `SELECT 'turn' AS kind, status FROM turns WHERE workspace_id = $1 AND status IN ('queued', 'running')
         UNION ALL SELECT 'delegation', d.status FROM delegations d JOIN turns t ON t.id = d.turn_id
           WHERE t.workspace_id = $1 AND d.status = 'running'
         UNION ALL SELECT slug, activity FROM agents WHERE workspace_id = $1 AND activity NOT IN ('online', 'error')`,
        [client.workspaceId],
      );
    await eventually(async () => (await left()).length === 0, { timeoutMs: 20_000 }).catch(() => undefined);
    expect(await left()).toEqual([]);
  }

  it.each([1, 3, 5])('RES-071 STATE-002 gets the results of %i agents, and answers', async (count) => {
    const agents = ['researcher', 'writer', 'coder', 'analyst', 'researcher'].slice(0, count);
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }];
      return results.length === 0 ? delegate(...agents) : [{ text: `Together: ${results.length} results.` }];
    };
    await client.send('Ask your team');
    await answer(`Together: ${count} results.`);
    expect(await delegations()).toMatchObject(
      agents.map((slug) => ({ status: 'completed', to: { slug }, task_preview: `Find facts for ${slug}` })),
    );
    await expectNothingLeft();
    expect(await budgets()).toEqual({ tasks: count, left: true });
  });

  it('has the usage of its tasks in its total, and names the turn that delegated each of them', async () => {
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }, { usage: { prompt: 1_000, completion: 100 } }];
      const next = results.length === 0 ? delegate('researcher', 'writer') : [{ text: 'Together.' }];
      return [...next, { usage: { prompt: 2_000, completion: 10 } }];
    };
    await client.send('Ask your team');
    await answer('Together.');
    await expectNothingLeft();
    const report = async (by: string) => {
      const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/usage/report?group_by=${by}`);
      return (body as UsageReportPage).data;
    };
    const { groups, total } = await report('turn');
    const manager = groups.find(({ turn }) => turn?.delegated_by === null);
    const tasks = groups.filter((group) => group !== manager);
    // Sonnet of openai costs 2.5 and 10 micro US dollars per token.
    const ofTask = { model_calls: 1, prompt_tokens: 1_000, completion_tokens: 100, cost_micros: 3_500 };
    expect(manager).toMatchObject({
      usage: { model_calls: 2, prompt_tokens: 4_000, completion_tokens: 20, cost_micros: 10_200 },
      turn: { total: { model_calls: 4, prompt_tokens: 6_000, completion_tokens: 220, cost_micros: 17_200 } },
    });
    const task = { usage: ofTask, turn: { delegated_by: manager?.key, total: ofTask } };
    expect(tasks).toMatchObject([task, task]);
    expect(total).toEqual(manager?.turn?.total);
    expect((await report('agent')).groups.map(({ usage }) => usage.cost_micros).toSorted()).toEqual([
      10_200, 3_500, 3_500,
    ]);
  });

  it('RES-075 STATE-001 RT-016 announces the start and the end of a task, and shows nothing of the result to the user', async () => {
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }];
      return results.length === 0 ? delegate('researcher') : [{ text: 'Together.' }];
    };
    await client.send('Ask your team');
    await answer('Together.');
    const [delegation] = await delegations();
    const announced = client.events.filter(({ name }) => name === 'agent.delegation').map(({ payload }) => payload);
    expect(announced).toEqual(
      ['running', 'completed'].map((status) => ({
        workspace_id: client.workspaceId,
        conversation_id: client.conversationId,
        message_id: delegation?.id,
        status,
      })),
    );
    expect(JSON.stringify(client.events)).not.toContain('Facts of');
  });

  it('is pending while a sub-agent works, whose memories name the message of the user', async () => {
    behave = (_agent, prompt, results) => {
      if (!isTask(prompt)) return results.length === 0 ? delegate('researcher') : [{ text: 'Together.' }];
      if (results.length > 0) return [{ hold: 'remembered' }, { text: 'Saved.' }];
      return [{ toolCalls: [{ name: 'remember', arguments: { key: 'tea', content: 'Tea is green.' } }] }];
    };
    await client.send('Ask your team');
    await model.reached('remembered');
    const busy = () =>
      services.query<{ id: string; kind: string; activity: string }>(
        `SELECT id, kind, activity FROM agents WHERE workspace_id = $1 AND activity <> 'online' ORDER BY kind`,
        [client.workspaceId],
      );
    await eventually(busy, { until: ([manager]) => manager?.activity === 'pending' });
    const [manager, subAgent] = await busy();
    expect([manager, subAgent]).toMatchObject([
      { kind: 'manager', activity: 'pending' },
      { kind: 'sub-agent', activity: 'thinking' },
    ]);
    const asked = (await listed()).find(({ role }) => role === 'user');
    const memories = (await client.api('GET', `/v1/agents/${subAgent?.id}/memories`)).body;
    expect(memories).toMatchObject({
      data: [{ key: 'tea', created_by: 'agent', source: { message_id: asked?.id } }],
    });
    model.release('remembered');
    await answer('Together.');
    await expectNothingLeft();
  });

  it('RES-074 documents that the agents of a task can be unknown', async () => {
    const { body } = await client.api('GET', '/v1/openapi.json');
    const { DelegationContent } = (body as { components: { schemas: Record<string, { required: string[] }> } })
      .components.schemas;
    expect(DelegationContent?.required).toEqual(['type', 'status', 'task_preview']);
    expect(DelegationContent).toMatchObject({
      properties: {
        from: { anyOf: expect.arrayContaining([{ type: 'null' }]) },
        to: { anyOf: expect.arrayContaining([{ type: 'null' }]) },
      },
    });
  });

  it('lets a sub-agent delegate once more, and not deeper', async () => {
    const offered: Record<string, boolean> = {};
    behave = (agent, _prompt, results) => {
      offered[agent] = model.requests.at(-1)!.body.tools?.some((tool) => tool.function.name === 'delegate') ?? false;
      if (results.length > 0) return [{ text: `${agent} got: ${results.join()}` }];
      if (agent === 'manager') return delegate('researcher');
      if (agent === 'researcher') return delegate('analyst');
      return [{ text: 'The deepest fact.' }];
    };
    await client.send('Ask your team');
    await client.saw('message.done', ({ status }: { status: string }) => status === 'delivered');
    await eventually(async () => (await listed()).some(({ content }) => JSON.stringify(content).includes('deepest')));
    expect(offered).toEqual({ manager: true, researcher: true, analyst: false });
    expect(await delegations()).toMatchObject([
      { status: 'completed', from: { slug: 'manager' }, to: { slug: 'researcher' } },
      { status: 'completed', from: { slug: 'researcher' }, to: { slug: 'analyst' } },
    ]);
    await expectNothingLeft();
  });

  it('STATE-003 gets the failure of a sub-agent as a result', async () => {
    behave = (_agent, prompt, results) => {
      if (isTask(prompt)) return [{ error: { status: 400, message: 'no' } }];
      return results.length === 0 ? delegate('writer') : [{ text: `Result: ${results[0]}` }];
    };
    await client.send('Ask your team');
    await eventually(async () =>
      (await listed()).some(({ content }) => JSON.stringify(content).includes('The task failed')),
    );
    expect(await delegations()).toMatchObject([{ status: 'failed' }]);
    await expectNothingLeft();
  });

  it('continues when the user stops one of two sub-agents', async () => {
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ hold: agent }, { text: `Facts of ${agent}.` }];
      return results.length === 0
        ? delegate('writer', 'coder')
        : [{ text: results.map((text) => text.includes('stopped')).join() }];
    };
    await client.send('Ask your team');
    await Promise.all([model.reached('writer'), model.reached('coder')]);
    const [first] = await delegations();
    const stopped = await client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${first?.id}/stop`);
    expect(stopped.status).toBe(204);
    await client.saw('agent.delegation', ({ status }: { status: string }) => status === 'failed');
    model.release('coder');
    await answer('true,false');
    expect((await delegations()).map(({ status }) => status)).toEqual(['failed', 'completed']);
    await expectNothingLeft();
  });

  it('ends with all sub-agents when the user stops the answer', async () => {
    behave = (agent, prompt, results) => {
      if (agent === 'analyst') return [{ hold: 'forever' }, { text: 'Never.' }];
      if (isTask(prompt)) return results.length === 0 ? delegate('analyst') : [{ text: 'Too late.' }];
      return results.length === 0 ? delegate('researcher', 'writer') : [{ text: 'Too late.' }];
    };
    const asked = await client.send('Ask your team');
    await eventually(async () => calls.filter((agent) => agent === 'analyst').length === 2);
    await eventually(async () => (await delegations()).length === 4);
    expect((await client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${asked}/stop`)).status).toBe(204);
    await expectNothingLeft();
    expect((await delegations()).map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(calls.filter((agent) => agent === 'manager')).toHaveLength(1);
  });

  it('leaves nothing running when the user deletes the message', async () => {
    behave = (_agent, prompt) => (isTask(prompt) ? [{ hold: 'never' }, { text: 'Never.' }] : delegate('writer'));
    const asked = await client.send('Ask your team');
    await eventually(async () => calls.includes('writer'));
    expect((await client.api('DELETE', `/v1/workspaces/${client.workspaceId}/messages/${asked}`)).status).toBe(204);
    await expectNothingLeft();
    expect((await delegations()).filter(({ status }) => status === 'running')).toEqual([]);
  });

  it('completes when the runtime is killed while five sub-agents work', async () => {
    const agents = ['researcher', 'writer', 'coder', 'analyst', 'researcher'];
    let isKilled = false;
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return isKilled ? [{ text: `Facts of ${agent}.` }] : [{ text: 'Fa' }, { hold: 'dead' }];
      return results.length === 0 ? delegate(...agents) : [{ text: `Together: ${results.length} results.` }];
    };
    await client.send('Ask your team');
    // The other ones wait: a user has four turns at the same time.
    await eventually(async () => calls.length >= 5);
    isKilled = true;
    await services.kill('the runtime', client.workspaceId);
    await services.recover('the runtime');
    await answer('Together: 5 results.');
    expect((await delegations()).map(({ status }) => status)).toEqual(agents.map(() => 'completed'));
    // The steps of the manager are not repeated.
    expect(calls.filter((agent) => agent === 'manager')).toHaveLength(2);
    await expectNothingLeft();
  });

  it('completes when the orchestrator is killed while a sub-agent works', async () => {
    let isKilled = false;
    behave = (agent, prompt, results) => {
      if (isTask(prompt)) return isKilled ? [{ text: `Facts of ${agent}.` }] : [{ text: 'Fa' }, { hold: 'gone' }];
      return results.length === 0 ? delegate('writer') : [{ text: 'Together.' }];
    };
    await client.send('Ask your team');
    await eventually(async () => calls.includes('writer'));
    isKilled = true;
    await services.kill('both', client.workspaceId);
    await services.recover('both');
    await eventually(async () => (await listed()).some(({ content }) => JSON.stringify(content).includes('Together.')));
    expect(await delegations()).toMatchObject([{ status: 'completed' }]);
    await expectNothingLeft();
  });

  it('waits while the user decides on the call of a sub-agent, which another message does not withdraw', async () => {
    behave = (agent, prompt, results) => {
      if (agent === 'writer') {
        const memory = { key: 'style', content: 'Short sentences' };
        return results.length === 0
          ? [{ toolCalls: [{ name: 'remember', arguments: memory }] }]
          : [{ text: `Saved: ${results[0]}` }];
      }
      if (prompt.endsWith('Hello')) return [{ text: 'Hello, Ada.' }];
      return results.length === 0 ? delegate('writer') : [{ text: 'All is saved.' }];
    };
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    const writer = (body as { data: { id: string; slug: string }[] }).data.find(({ slug }) => slug === 'writer')!.id;
    await client.api('PATCH', `/v1/agents/${writer}/tools/memories`, { permission: 'ask' });
    await client.send('Ask your team');
    const { payload } = await client.saw(
      'message.new',
      ({ message }: { message: MessageData }) => message.content.type === 'action_card',
    );
    const { message: card } = payload as { message: MessageData };
    expect(card.agent?.slug).toBe('writer');
    await client.send('Hello');
    await answer('Hello, Ada.');
    const action = `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`;
    expect((await client.api('POST', action, { action_id: 'approve' })).status).toBe(200);
    await answer('All is saved.');
    expect(await delegations()).toMatchObject([{ status: 'completed' }]);
    const memories = await services.query('SELECT key FROM agent_memories WHERE agent_id = $1', [writer]);
    expect(memories).toEqual([{ key: 'style' }]);
    await expectNothingLeft();
  });

  it('hands a message over to another agent', async () => {
    behave = (agent, _prompt, results) => {
      if (agent === 'coder') return [{ text: 'I am the coder.' }];
      if (results.length > 0) return [{ text: 'Not reached.' }];
      return [{ text: 'The coder knows.' }, { toolCalls: [{ name: 'hand_over', arguments: { agent: 'coder' } }] }];
    };
    await client.send('A question about code');
    await answer('I am the coder.');
    const replies = (await listed()).filter(({ role }) => role === 'agent');
    expect(replies).toMatchObject([
      { content: { text: 'The coder knows.' }, extended_status: 'delegated', agent: { slug: 'manager' } },
      { content: { text: 'I am the coder.' }, extended_status: 'delivered', agent: { slug: 'coder' } },
    ]);
    expect(calls).toEqual(['manager', 'coder']);
    await expectNothingLeft();
  });
});
