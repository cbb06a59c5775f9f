import { describe, expect, it } from '@jest/globals';
import type { AgentSummary, MessageData, Workflow } from '@uswarm/contract';
import type { ModelStep } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';

const isStep = (prompt: string): boolean => prompt.includes('You work on the step');
const isReport = (prompt: string): boolean => prompt.includes('[Message of the app]');
const call = (name: string, input: object): ModelStep[] => [{ toolCalls: [{ name, arguments: input }] }];
const REMEMBER = call('remember', { key: 'tea', content: 'Tea is green.' });
const step = (id: string, agent: string, after: string[] = []) => ({
  id,
  name: id,
  agent,
  task: `Find ${id}.`,
  after,
});

describe('an agent that is removed while it works', () => {
  const world = useDelegatingAgents({ WORK_LEASE_MS: '3000' });
  const { listed, delegations, answer, expectNothingLeft } = world;

  async function idOf(slug: string): Promise<string> {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    return (body as { data: AgentSummary[] }).data.find((agent) => agent.slug === slug)?.id ?? '';
  }
  async function remove(slug: string): Promise<void> {
    expect((await world.client.api('DELETE', `/v1/agents/${await idOf(slug)}`)).status).toBe(204);
  }
  async function askBeforeMemories(slug: string): Promise<void> {
    const path = `/v1/agents/${await idOf(slug)}/tools/memories`;
    expect((await world.client.api('PATCH', path, { permission: 'ask' })).status).toBe(200);
  }
  const openCard = () =>
    world.client.shown(({ content, status }) => content.type === 'action_card' && status !== 'failed');
  /** Waits until the card is withdrawn, and approves it nevertheless. @returns what that changed */
  async function approveWithdrawn(card: MessageData) {
    const isWithdrawn = async () =>
      (await listed()).some(({ id, extended_status: status }) => id === card.id && status === 'failed');
    await eventually(isWithdrawn);
    const path = `/v1/workspaces/${world.client.workspaceId}/messages/${card.id}/action`;
    const { status } = await world.client.api('POST', path, { action_id: 'approve' });
    const memories = `SELECT key FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`;
    return { status, memories: await world.services.query(memories, [world.client.workspaceId]) };
  }
  async function workflow(): Promise<Workflow> {
    const path = `/v1/workspaces/${world.client.workspaceId}/workflows`;
    const { body: list } = await world.client.api('GET', path);
    const { body } = await world.client.api('GET', `${path}/${(list as { data: Workflow[] }).data[0]?.id}`);
    return (body as { data: Workflow }).data;
  }
  const untilEnded = () => eventually(workflow, { until: ({ status }) => status !== 'running', timeoutMs: 20_000 });

  it('loses its open approval: the card is withdrawn, and the call is not made', async () => {
    await askBeforeMemories('writer');
    world.behave = (_agent, _prompt, results) => (results.length === 0 ? REMEMBER : [{ text: 'Saved.' }]);
    await world.client.send('@writer Remember my tea');
    const card = await openCard();
    await remove('writer');
    expect(await approveWithdrawn(card)).toEqual({ status: 404, memories: [] });
    await expectNothingLeft();
  });

  it('ends its task, and the manager answers with the results of the others', async () => {
    world.behave = (agent, prompt, results) => {
      if (isTask(prompt)) return agent === 'writer' ? [{ hold: 'slow' }, { text: 'Never.' }] : [{ text: 'A fact.' }];
      if (results.length === 0) return delegate('writer', 'coder');
      return [{ text: results.map((text) => /stopped|A fact/.exec(text)?.[0]).join(', ') }];
    };
    await world.client.send('Ask your team');
    await world.model.reached('slow');
    await remove('writer');
    await answer('stopped, A fact');
    expect(await delegations()).toMatchObject([
      { to: { slug: 'writer' }, status: 'failed' },
      { to: { slug: 'coder' }, status: 'completed' },
    ]);
    await expectNothingLeft();
  });

  it('ends its task that waits for an approval, and the manager answers', async () => {
    await askBeforeMemories('writer');
    world.behave = (_agent, prompt, results) => {
      if (isTask(prompt)) return results.length === 0 ? REMEMBER : [{ text: 'Saved.' }];
      return results.length === 0 ? delegate('writer') : [{ text: /stopped/.exec(results[0] ?? '')?.[0] ?? '' }];
    };
    await world.client.send('Ask your team');
    const card = await openCard();
    await remove('writer');
    await answer('stopped');
    expect(await approveWithdrawn(card)).toEqual({ status: 404, memories: [] });
    await expectNothingLeft();
  });

  it('ends the tasks that it has given to others', async () => {
    world.behave = (agent, prompt, results) => {
      if (agent === 'coder') return [{ hold: 'deepest' }, { text: 'Never.' }];
      if (isTask(prompt)) return results.length === 0 ? delegate('coder') : [{ text: 'Never.' }];
      return results.length === 0 ? delegate('writer') : [{ text: /stopped/.exec(results[0] ?? '')?.[0] ?? '' }];
    };
    await world.client.send('Ask your team');
    await world.model.reached('deepest');
    await remove('writer');
    await answer('stopped');
    expect(await delegations()).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
    await expectNothingLeft();
  });

  it('cancels the workflow whose step it works on', async () => {
    const steps = [step('one', 'writer'), step('two', 'coder', ['one'])];
    world.behave = (_agent, prompt, results) => {
      if (isStep(prompt)) return [{ hold: 'slow-step' }, { text: 'Never.' }];
      return results.length === 0 ? call('start_workflow', { name: 'Tea', steps }) : [{ text: 'Started.' }];
    };
    await world.client.send('Plan it');
    await answer('Started.');
    await world.model.reached('slow-step');
    await remove('writer');
    expect((await untilEnded()).status).toBe('cancelled');
    await expectNothingLeft();
  });

  it('ends the workflow whose later step it should do', async () => {
    const steps = [step('one', 'coder'), step('two', 'writer', ['one'])];
    world.behave = (agent, prompt, results) => {
      if (isReport(prompt)) return [{ text: 'Reported.' }];
      if (isStep(prompt)) return agent === 'coder' ? [{ hold: 'first-step' }, { text: 'A fact.' }] : [{ text: 'No.' }];
      return results.length === 0 ? call('start_workflow', { name: 'Tea', steps }) : [{ text: 'Started.' }];
    };
    await world.client.send('Plan it');
    await answer('Started.');
    await world.model.reached('first-step');
    await remove('writer');
    world.model.release('first-step');
    expect(await untilEnded()).toMatchObject({
      status: 'cancelled',
      steps: [{ status: 'completed' }, { status: 'failed' }],
    });
    expect(world.calls).not.toContain('writer');
    await expectNothingLeft();
  });

  it('ends its task although the manager removes it in the same step', async () => {
    world.behave = (_agent, prompt, results) => {
      if (isTask(prompt)) return [{ hold: 'same-step' }, { text: 'Never.' }];
      if (results.length > 0) return [{ text: `${results.length} results.` }];
      const [{ toolCalls }] = delegate('writer') as [{ toolCalls: { name: string; arguments: object }[] }];
      return [{ toolCalls: [...toolCalls, { name: 'remove_agent', arguments: { agent: 'writer' } }] }];
    };
    await world.client.send('Ask the writer, and remove it');
    await answer('2 results.');
    expect(await idOf('writer')).toBe('');
    await expectNothingLeft();
  });
});
