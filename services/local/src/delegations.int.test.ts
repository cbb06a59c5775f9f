import { describe, expect, it } from '@jest/globals';
import type { UsageReportPage } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';

describe('a manager that delegates', () => {
  const world = useDelegatingAgents();
  const { listed, delegations, answer, budgets, expectNothingLeft } = world;

  it.each([1, 3, 5])('RES-071 STATE-002 invariant 9: gets the results of %i agents, and answers', async (count) => {
    const agents = ['researcher', 'writer', 'coder', 'analyst', 'researcher'].slice(0, count);
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }];
      return results.length === 0 ? delegate(...agents) : [{ text: `Together: ${results.length} results.` }];
    };
    await world.client.send('Ask your team');
    await answer(`Together: ${count} results.`);
    expect(await delegations()).toMatchObject(
      agents.map((slug) => ({ status: 'completed', to: { slug }, task_preview: `Find facts for ${slug}` })),
    );
    await expectNothingLeft();
    expect(await budgets()).toEqual({ tasks: count, left: true });
  });

  it('has the usage of its tasks in its total, and names the turn that delegated each of them', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }, { usage: { prompt: 1_000, completion: 100 } }];
      const next = results.length === 0 ? delegate('researcher', 'writer') : [{ text: 'Together.' }];
      return [...next, { usage: { prompt: 2_000, completion: 10 } }];
    };
    await world.client.send('Ask your team');
    await answer('Together.');
    await expectNothingLeft();
    const report = async (by: string) => {
      const { body } = await world.client.api(
        'GET',
        `/v1/workspaces/${world.client.workspaceId}/usage/report?group_by=${by}`,
      );
      return (body as UsageReportPage).data;
    };
    const { groups, total } = await report('turn');
    const manager = groups.find(({ turn }) => turn?.delegated_by === null);
    const tasks = groups.filter((group) => group !== manager);
    // Sonnet of openai costs 2.5 and 10 micro US dollars per token, and flash 0.15 and 0.6.
    const ofTask = { model_calls: 1, prompt_tokens: 1_000, completion_tokens: 100, cost_micros: 210 };
    expect(manager).toMatchObject({
      usage: { model_calls: 2, prompt_tokens: 4_000, completion_tokens: 20, cost_micros: 10_200 },
      turn: { total: { model_calls: 4, prompt_tokens: 6_000, completion_tokens: 220, cost_micros: 10_620 } },
    });
    const task = { usage: ofTask, turn: { delegated_by: manager?.key, total: ofTask } };
    expect(tasks).toMatchObject([task, task]);
    expect(total).toEqual(manager?.turn?.total);
    expect((await report('agent')).groups.map(({ usage }) => usage.cost_micros).toSorted()).toEqual([10_200, 210, 210]);
  });

  it('RES-075 STATE-001 RT-016 announces the start and the end of a task, and shows nothing of the result to the user', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ text: `Facts of ${agent}.` }];
      return results.length === 0 ? delegate('researcher') : [{ text: 'Together.' }];
    };
    const asked = await world.client.send('Ask your team');
    await answer('Together.');
    const [delegation] = await delegations();
    const shown = (await listed()).find(({ id }) => id === delegation?.id);
    const announced = world.client.events
      .filter(({ name }) => name === 'agent.delegation')
      .map(({ payload }) => payload);
    expect(announced).toEqual(
      ['running', 'completed'].map((status) => ({
        workspace_id: world.client.workspaceId,
        conversation_id: world.client.conversationId,
        message_id: delegation?.id,
        status,
        turn_id: shown?.turn_id,
        in_reply_to: asked,
      })),
    );
    expect(JSON.stringify(world.client.events)).not.toContain('Facts of');
  });

  it('is pending while a sub-agent works, whose memories name the message of the user', async () => {
    world.behave = (_agent, prompt, results) => {
      if (!isTask(prompt)) return results.length === 0 ? delegate('researcher') : [{ text: 'Together.' }];
      if (results.length > 0) return [{ hold: 'remembered' }, { text: 'Saved.' }];
      return [{ toolCalls: [{ name: 'remember', arguments: { key: 'tea', content: 'Tea is green.' } }] }];
    };
    await world.client.send('Ask your team');
    await world.model.reached('remembered');
    const busy = () =>
      world.services.query<{ id: string; kind: string; activity: string }>(
        `SELECT id, kind, activity FROM agents WHERE workspace_id = $1 AND activity <> 'online' ORDER BY kind`,
        [world.client.workspaceId],
      );
    await eventually(busy, { until: ([manager]) => manager?.activity === 'pending' });
    const [manager, subAgent] = await busy();
    expect([manager, subAgent]).toMatchObject([
      { kind: 'manager', activity: 'pending' },
      { kind: 'sub-agent', activity: 'thinking' },
    ]);
    const asked = (await listed()).find(({ role }) => role === 'user');
    const memories = (await world.client.api('GET', `/v1/agents/${subAgent?.id}/memories`)).body;
    expect(memories).toMatchObject({
      data: [{ key: 'tea', created_by: 'agent', source: { message_id: asked?.id } }],
    });
    world.model.release('remembered');
    await answer('Together.');
    await expectNothingLeft();
  });

  it('RES-074 documents that the agents of a task can be unknown', async () => {
    const { body } = await world.client.api('GET', '/v1/openapi.json');
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

  it('invariant 9: lets a sub-agent delegate once more, and not deeper', async () => {
    const offered: Record<string, boolean> = {};
    world.behave = (agent, _prompt, results) => {
      offered[agent] =
        world.model.requests.at(-1)!.body.tools?.some((tool) => tool.function.name === 'delegate') ?? false;
      if (results.length > 0) return [{ text: `${agent} got: ${results.join()}` }];
      if (agent === 'manager') return delegate('researcher');
      if (agent === 'researcher') return delegate('analyst');
      return [{ text: 'The deepest fact.' }];
    };
    await world.client.send('Ask your team');
    await world.client.saw('message.done', ({ status }: { status: string }) => status === 'delivered');
    await eventually(async () => (await listed()).some(({ content }) => JSON.stringify(content).includes('deepest')));
    expect(offered).toEqual({ manager: true, researcher: true, analyst: false });
    expect(await delegations()).toMatchObject([
      { status: 'completed', from: { slug: 'manager' }, to: { slug: 'researcher' } },
      { status: 'completed', from: { slug: 'researcher' }, to: { slug: 'analyst' } },
    ]);
    await expectNothingLeft();
    expect(await budgets()).toEqual({ tasks: 2, left: true });
  });

  it('continues when the user stops one of two sub-agents', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return [{ hold: agent }, { text: `Facts of ${agent}.` }];
      return results.length === 0
        ? delegate('writer', 'coder')
        : [{ text: results.map((text) => text.includes('stopped')).join() }];
    };
    await world.client.send('Ask your team');
    await Promise.all([world.model.reached('writer'), world.model.reached('coder')]);
    const [first] = await delegations();
    const stopped = await world.client.api(
      'POST',
      `/v1/workspaces/${world.client.workspaceId}/messages/${first?.id}/stop`,
    );
    expect(stopped.status).toBe(204);
    await world.client.saw('agent.delegation', ({ status }: { status: string }) => status === 'failed');
    world.model.release('coder');
    await answer('true,false');
    expect((await delegations()).map(({ status }) => status)).toEqual(['failed', 'completed']);
    await expectNothingLeft();
  });

  it('ends with all sub-agents when the user stops the answer', async () => {
    world.behave = (agent, prompt, results) => {
      if (agent === 'analyst') return [{ hold: 'forever' }, { text: 'Never.' }];
      if (isTask(prompt)) return results.length === 0 ? delegate('analyst') : [{ text: 'Too late.' }];
      return results.length === 0 ? delegate('researcher', 'writer') : [{ text: 'Too late.' }];
    };
    const asked = await world.client.send('Ask your team');
    await eventually(async () => world.calls.filter((agent) => agent === 'analyst').length === 2);
    await eventually(async () => (await delegations()).length === 4);
    expect(
      (await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/messages/${asked}/stop`)).status,
    ).toBe(204);
    await expectNothingLeft();
    expect((await delegations()).map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(world.calls.filter((agent) => agent === 'manager')).toHaveLength(1);
  });

  it('leaves nothing running when the user deletes the message', async () => {
    world.behave = (_agent, prompt) => (isTask(prompt) ? [{ hold: 'never' }, { text: 'Never.' }] : delegate('writer'));
    const asked = await world.client.send('Ask your team');
    await eventually(async () => world.calls.includes('writer'));
    expect(
      (await world.client.api('DELETE', `/v1/workspaces/${world.client.workspaceId}/messages/${asked}`)).status,
    ).toBe(204);
    await expectNothingLeft();
    expect((await delegations()).filter(({ status }) => status === 'running')).toEqual([]);
  });

  it('invariant 9: completes within its budget when the runtime is killed while five sub-agents work', async () => {
    const agents = ['researcher', 'writer', 'coder', 'analyst', 'researcher'];
    let isKilled = false;
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return isKilled ? [{ text: `Facts of ${agent}.` }] : [{ text: 'Fa' }, { hold: 'dead' }];
      return results.length === 0 ? delegate(...agents) : [{ text: `Together: ${results.length} results.` }];
    };
    await world.client.send('Ask your team');
    // The other ones wait: a user has four turns at the same time.
    await eventually(async () => world.calls.length >= 5);
    isKilled = true;
    await world.services.kill('the runtime', world.client.workspaceId);
    await world.services.recover('the runtime');
    await answer('Together: 5 results.');
    expect((await delegations()).map(({ status }) => status)).toEqual(agents.map(() => 'completed'));
    // The manager's steps are not repeated.
    expect(world.calls.filter((agent) => agent === 'manager')).toHaveLength(2);
    await expectNothingLeft();
    expect(await budgets()).toEqual({ tasks: 5, left: true });
  });

  it('invariant 9: completes within its budget when runtime and orchestrator are killed while a sub-agent works', async () => {
    let isKilled = false;
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return isKilled ? [{ text: `Facts of ${agent}.` }] : [{ text: 'Fa' }, { hold: 'gone' }];
      return results.length === 0 ? delegate('writer') : [{ text: 'Together.' }];
    };
    await world.client.send('Ask your team');
    await eventually(async () => world.calls.includes('writer'));
    isKilled = true;
    await world.services.kill('both', world.client.workspaceId);
    await world.services.recover('both');
    await eventually(async () => (await listed()).some(({ content }) => JSON.stringify(content).includes('Together.')));
    expect(await delegations()).toMatchObject([{ status: 'completed' }]);
    await expectNothingLeft();
    expect(await budgets()).toEqual({ tasks: 1, left: true });
  });

  it('waits while the user decides on the call of a sub-agent, which another message does not withdraw', async () => {
    world.behave = (agent, prompt, results) => {
      if (agent === 'writer') {
        const memory = { key: 'style', content: 'Short sentences' };
        return results.length === 0
          ? [{ toolCalls: [{ name: 'remember', arguments: memory }] }]
          : [{ text: `Saved: ${results[0]}` }];
      }
      if (prompt.endsWith('Hello')) return [{ text: 'Hello, Ada.' }];
      return results.length === 0 ? delegate('writer') : [{ text: 'All is saved.' }];
    };
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    const writer = (body as { data: { id: string; slug: string }[] }).data.find(({ slug }) => slug === 'writer')!.id;
    await world.client.api('PATCH', `/v1/agents/${writer}/tools/memories`, { permission: 'ask' });
    await world.client.send('Ask your team');
    const card = await world.client.shown(({ content }) => content.type === 'action_card');
    expect(card.agent?.slug).toBe('writer');
    await world.client.send('Hello');
    await answer('Hello, Ada.');
    const action = `/v1/workspaces/${world.client.workspaceId}/messages/${card.id}/action`;
    expect((await world.client.api('POST', action, { action_id: 'approve' })).status).toBe(200);
    await answer('All is saved.');
    expect(await delegations()).toMatchObject([{ status: 'completed' }]);
    const memories = await world.services.query('SELECT key FROM agent_memories WHERE agent_id = $1', [writer]);
    expect(memories).toEqual([{ key: 'style' }]);
    await expectNothingLeft();
  });

  it('hands a message over to another agent', async () => {
    world.behave = (agent, _prompt, results) => {
      if (agent === 'coder') return [{ text: 'I am the coder.' }];
      if (results.length > 0) return [{ text: 'Not reached.' }];
      return [{ text: 'The coder knows.' }, { toolCalls: [{ name: 'hand_over', arguments: { agent: 'coder' } }] }];
    };
    await world.client.send('A question about code');
    await answer('I am the coder.');
    const replies = (await listed()).filter(({ role }) => role === 'agent');
    expect(replies).toMatchObject([
      { content: { text: 'The coder knows.' }, extended_status: 'delegated', agent: { slug: 'manager' } },
      { content: { text: 'I am the coder.' }, extended_status: 'delivered', agent: { slug: 'coder' } },
    ]);
    expect(world.calls).toEqual(['manager', 'coder']);
    await expectNothingLeft();
  });
});
