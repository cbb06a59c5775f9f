import { afterEach, describe, expect, it } from '@jest/globals';
import type { AgentSummary, MessageData, TurnStep, TurnStepPage, TurnSteps } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { isTask, useDelegatingAgents } from '../test/delegating-agents.js';

const MEMORY = { key: 'tea', content: 'The user drinks green tea.' };
const TASK = { agent: 'researcher', task: 'Find facts on tea', expected: 'One sentence' };

const typesOf = ({ steps }: TurnSteps): string[] => steps.map(({ type }) => type);
/** Details of all steps with a type, with their end times. */
const stepsOf = <Type extends TurnStep['type']>({ steps }: TurnSteps, type: Type) =>
  steps.flatMap((step) => {
    const details = step[type];
    return details === null ? [] : [{ ...details, finished_at: step.finished_at }];
  });

describe('the steps of a turn that waits for an approval and for a sub-agent whose runtime is killed', () => {
  const world = useDelegatingAgents();
  let isKilled = false;
  afterEach(() => world.model.release('working'));

  const steps = async (turnId: string): Promise<TurnSteps> => {
    const { api, conversationId } = world.client;
    const { status, body } = await api('GET', `/v1/conversations/${conversationId}/turns/${turnId}/steps`);
    expect(status).toBe(200);
    return (body as TurnStepPage).data;
  };

  /** The manager saves a memory and gives a task. The sub-agent calls a tool, and one that does not exist. */
  function behave(agent: string, prompt: string, results: readonly string[]) {
    if (!isTask(prompt)) {
      if (results.length > 0) return [{ text: 'Together.' }];
      const toolCalls = [
        { name: 'remember', arguments: MEMORY },
        { name: 'delegate', arguments: TASK },
      ];
      return [{ text: 'I will ask. ' }, { toolCalls }];
    }
    if (results.length > 0) return isKilled ? [{ text: 'Tea is green.' }] : [{ hold: 'working' }, { text: 'Never.' }];
    const toolCalls = [
      { name: 'recall', arguments: { query: 'tea' } },
      { name: 'no_such_tool', arguments: { agent } },
    ];
    return [{ text: 'Let me look. ' }, { toolCalls }];
  }

  async function askForApprovals(): Promise<void> {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}/agents`);
    const manager = (body as { data: AgentSummary[] }).data.find(({ slug }) => slug === 'manager');
    await world.client.api('PATCH', `/v1/agents/${manager?.id}/tools/memories`, { permission: 'ask' });
  }

  const card = (): Promise<MessageData> => world.client.shown(({ content }) => content.type === 'action_card');

  it('are listed while it runs and after it, each once, with what other agents did under their own turns', async () => {
    world.behave = behave;
    await askForApprovals();
    await world.client.send('Ask your team');
    await world.model.reached('working');
    const { id: cardId, turn_id: turnId = '' } = await card();
    const waiting = await eventually(() => steps(turnId), { until: ({ status }) => status === 'waiting' });
    expect(typesOf(waiting).toSorted()).toEqual(
      ['model_call', 'text', 'tool_call', 'tool_call', 'approval', 'delegation'].toSorted(),
    );
    expect(stepsOf(waiting, 'tool_call')).toMatchObject([
      { tool: 'remember', status: 'waiting', arguments: null, result: null, finished_at: null, receipt_id: null },
      { tool: 'delegate', status: 'running', arguments: JSON.stringify(TASK), result: null, finished_at: null },
    ]);
    const [delegation] = stepsOf(waiting, 'delegation');
    expect(delegation).toMatchObject({ status: 'running', task: TASK.task, agent: { slug: 'researcher' } });
    const taskTurn = delegation?.turn_id ?? '';
    const working = await steps(taskTurn);
    expect(working).toMatchObject({ status: 'running', delegated_by: turnId, task: TASK.task, finished_at: null });
    expect(stepsOf(working, 'model_call').map(({ status }) => status)).toEqual(['completed', 'running']);

    isKilled = true;
    await world.services.kill('the runtime', world.client.workspaceId);
    await world.services.recover('the runtime');
    await world.client.api('POST', `/v1/workspaces/${world.client.workspaceId}/messages/${cardId}/action`, {
      action_id: 'approve',
    });
    await world.answer('Together.');
    await world.expectNothingLeft();

    const task = await steps(taskTurn);
    expect(task).toMatchObject({ status: 'completed', delegated_by: turnId, error: null });
    // The call that was cut by the kill has no report; what was stored before is not repeated.
    expect(stepsOf(task, 'model_call').map(({ status }) => status)).toEqual(['completed', 'unknown', 'completed']);
    expect(stepsOf(task, 'text').map(({ text }) => text)).toEqual(['Let me look.', 'Tea is green.']);
    expect(stepsOf(task, 'tool_call')).toMatchObject([
      { tool: 'recall', status: 'completed', arguments: '{"query":"tea"}', result: 'No memory matches.' },
      { tool: 'no_such_tool', status: 'failed', result: 'no_such_tool: unknown tool.' },
    ]);

    const whole = await steps(turnId);
    expect(whole).toMatchObject({ turn_id: turnId, status: 'completed', delegated_by: null, task: null });
    expect(stepsOf(whole, 'model_call').map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(stepsOf(whole, 'text')).toMatchObject([
      { text: 'I will ask.', message_id: null },
      { text: 'Together.', message_id: expect.any(String) },
    ]);
    expect(stepsOf(whole, 'tool_call')).toMatchObject([
      { tool: 'remember', status: 'completed', arguments: null, receipt_id: expect.any(String) },
      { tool: 'delegate', status: 'completed', result: 'Let me look. Tea is green.', receipt_id: null },
    ]);
    expect(stepsOf(whole, 'approval')).toMatchObject([{ message_id: cardId, status: 'approved', tokens: null }]);
    expect(stepsOf(whole, 'delegation')).toMatchObject([{ turn_id: taskTurn, status: 'completed' }]);
    const times = whole.steps.flatMap(({ started_at: from, finished_at: to }) => (to === null ? [] : [[from, to]]));
    expect(times).toHaveLength(whole.steps.length);
    expect(times.filter(([from = '', to = '']) => from > to)).toEqual([]);
    // The ids of the turns that continued it lead to the same steps.
    const chain = await world.services.query<{ id: string }>('SELECT id FROM turns WHERE first_turn_id = $1', [turnId]);
    expect(chain.length).toBeGreaterThan(0);
    for (const { id } of chain) expect(await steps(id)).toEqual(whole);
  });
});
