import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageContent, MessageData, Workflow } from '@uswarm/contract';
import {
  type ModelServer,
  type ModelServerRequest,
  type ModelStep,
  startModelServer,
  textOf,
} from '@uswarm/dev-servers';
import { randomUUID } from 'node:crypto';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { KILLED, type Killed, type SeparateServices, startSeparateServices } from '../test/separate.js';

type WorkflowMessage = MessageData & { content: Extract<MessageContent, { type: 'workflow' }> };

const step = (id: string, agent: string, after: string[] = []) => ({
  id,
  agent,
  after,
  name: `Find ${id}`,
  task: `Find ${id} to Lyon.`,
});
const PLAN = {
  name: 'Plan a trip',
  steps: [step('trains', 'researcher'), step('hotels', 'researcher'), step('plan', 'writer', ['trains', 'hotels'])],
};
const MEMORY = { key: 'trip', content: 'The user travels to Lyon.' };

/** A request's last user message, which the app or an agent can have written. */
const askedBy = ({ messages }: ModelServerRequest): string =>
  textOf(messages.findLast(({ role }) => role === 'user')?.content);

describe('a workflow in the product', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  /** What the model is asked for, in order; a step by its id. */
  let asked: string[] = [];
  /** Instructions by step. */
  let prompts: Record<string, string> = {};
  /** Steps whose model call waits, or that call a tool first. */
  let holds: Record<string, string> = {};
  let toolCalls: Record<string, { name: string; arguments: object }> = {};

  function stepsFor(request: ModelServerRequest): readonly ModelStep[] {
    const text = askedBy(request);
    const hasResult = request.messages.at(-1)?.role === 'tool';
    const stepId = /You work on the step “Find (\w+)”/.exec(text)?.[1];
    if (stepId !== undefined) {
      asked.push(stepId);
      prompts[stepId] = text;
      const call = toolCalls[stepId];
      if (call !== undefined && !hasResult) return [{ toolCalls: [call] }];
      const hold = holds[stepId];
      return [{ text: 'Found' }, ...(hold === undefined ? [] : [{ hold }]), { text: ` ${stepId}.` }];
    }
    if (text.includes('[Message of the app]')) {
      asked.push('report');
      prompts['report'] = text;
      return [{ text: 'Your trip is planned.' }];
    }
    asked.push(hasResult ? 'started' : 'start');
    return hasResult
      ? [{ text: 'I have started it.' }]
      : [{ toolCalls: [{ name: 'start_workflow', arguments: PLAN }] }];
  }

  beforeAll(async () => {
    model = await startModelServer({ script: stepsFor });
    services = await startSeparateServices({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
      WORK_LEASE_MS: '3000',
    });
  });
  beforeEach(async () => {
    [asked, prompts, holds, toolCalls] = [[], {}, {}, {}];
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  const messageOf = ({ payload }: { payload: Record<string, unknown> }) => payload['message'] as MessageData;
  const isWorkflow = (message: MessageData): message is WorkflowMessage => message.content.type === 'workflow';
  /** Message states that clients receive. */
  const shown = (): WorkflowMessage['content'][] =>
    client.events
      .filter(({ name }) => name === 'message.new' || name === 'message.updated')
      .map(messageOf)
      .filter(isWorkflow)
      .map(({ content }) => content);
  const untilShown = (status: string): Promise<unknown> =>
    client.saw(
      'message.updated',
      ({ message }: { message: MessageData }) => isWorkflow(message) && message.content.status === status,
    );
  const untilAnswered = (text: string): Promise<unknown> =>
    client.saw(
      'message.updated',
      ({ message: { content } }: { message: MessageData }) => content.type === 'text' && content.text === text,
    );
  const path = (): string => `/v1/workspaces/${client.workspaceId}/workflows`;
  async function latest(): Promise<Workflow> {
    const { body: list } = await client.api('GET', path());
    const { body } = await client.api('GET', `${path()}/${(list as { data: Workflow[] }).data[0]?.id}`);
    return (body as { data: Workflow }).data;
  }
  const results = async () =>
    Object.fromEntries((await latest()).steps.map(({ step_id: id, status, result }) => [id, `${status}: ${result}`]));
  const COMPLETED = {
    trains: 'completed: Found trains.',
    hotels: 'completed: Found hotels.',
    plan: 'completed: Found plan.',
  };

  it('RES-073 shows a workflow with its five fields, works on its steps, and reports the results', async () => {
    await client.send('Plan a trip to Lyon');
    await untilAnswered('Your trip is planned.');
    const contents = shown();
    const first = contents[0]!;
    expect(first).toEqual({
      type: 'workflow',
      workflow_id: expect.any(String),
      workflow_name: 'Plan a trip',
      execution_id: expect.any(String),
      status: 'running',
      steps: expect.any(Array),
    });
    expect(first.steps).toHaveLength(3);
    expect(contents.at(-1)).toMatchObject({
      workflow_id: first.workflow_id,
      status: 'completed',
      steps: [
        { step_id: 'trains', name: 'Find trains', status: 'completed', agent_slug: 'researcher' },
        { step_id: 'hotels', status: 'completed', finished_at: expect.any(String) },
        { step_id: 'plan', status: 'completed', agent_slug: 'writer', started_at: expect.any(String) },
      ],
    });
    expect(await latest()).toMatchObject({ id: first.workflow_id, status: 'completed', agent_slug: 'manager' });
    expect(await results()).toEqual(COMPLETED);
    expect(prompts['plan']).toMatch(/Found trains\.[^]*Found hotels\./);
    expect(prompts['report']).toMatch(/Found trains\.[^]*Found hotels\.[^]*Found plan\./);
    expect(asked.toSorted()).toEqual(['hotels', 'plan', 'report', 'start', 'started', 'trains']);
    // Step results are not replies.
    const replies = await services.query<{ text: string }>(
      `SELECT content ->> 'text' AS text FROM messages WHERE workspace_id = $1 AND role = 'agent' AND content ->> 'type' = 'text'
       ORDER BY seq`,
      [client.workspaceId],
    );
    expect(replies.map(({ text }) => text)).toEqual(['I have started it.', 'Your trip is planned.']);
  });

  it('belongs to the question that started it, as its report does', async () => {
    const question = await client.send('Plan a trip to Lyon');
    await untilAnswered('Your trip is planned.');
    const messages = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    const { data } = (await client.api('GET', messages)).body as { data: MessageData[] };
    const answers = data.filter(({ role }) => role === 'agent');
    expect(answers.some(isWorkflow)).toBe(true);
    expect(answers.map(({ in_reply_to }) => in_reply_to)).toEqual(answers.map(() => question));
  });

  it('answers the user while its steps run', async () => {
    holds = { trains: 'slow-trains' };
    await client.send('Plan a trip to Lyon');
    await untilAnswered('I have started it.');
    await model.reached('slow-trains');
    expect((await latest()).status).toBe('running');
    model.release('slow-trains');
    await untilAnswered('Your trip is planned.');
  });

  it.each([...KILLED])('completes after a kill of %s, and repeats no step that was stored', async (killed: Killed) => {
    holds = { plan: `plan-${killed}` };
    await client.send('Plan a trip to Lyon');
    await model.reached(`plan-${killed}`);
    await services.kill(killed, client.workspaceId);
    holds = {};
    model.release(`plan-${killed}`);
    await services.recover(killed);
    await untilAnswered('Your trip is planned.');
    expect(await results()).toEqual(COMPLETED);
    expect(asked.filter((what) => what === 'trains' || what === 'hotels').toSorted()).toEqual(['hotels', 'trains']);
    const reports = await services.query(
      `SELECT FROM messages WHERE workspace_id = $1 AND content ->> 'text' = 'Your trip is planned.'`,
      [client.workspaceId],
    );
    expect(reports).toHaveLength(1);
  });

  it('can be cancelled: the runtime stops the running steps, and the others do not start', async () => {
    holds = { trains: 'never-trains', hotels: 'never-hotels' };
    await client.send('Plan a trip to Lyon');
    await model.reached('never-trains');
    await model.reached('never-hotels');
    await untilAnswered('I have started it.');
    const { id } = await latest();
    expect((await client.api('POST', `${path()}/${id}/cancel`)).status).toBe(204);
    await client.saw(
      'message.updated',
      ({ message }: { message: MessageData }) =>
        isWorkflow(message) && message.content.steps.every(({ status }) => status === 'failed'),
    );
    expect(await results()).toEqual({
      trains: 'failed: Found',
      hotels: 'failed: Found',
      plan: 'failed: Not started, because the workflow was cancelled.',
    });
    expect(shown().at(-1)?.status).toBe('cancelled');
    expect(asked).not.toContain('report');
  });

  it('waits for an approval that a step needs, and continues after the decision', async () => {
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    for (const agent of (body as { data: { id: string }[] }).data)
      await client.api('PATCH', `/v1/agents/${agent.id}/tools/memories`, { permission: 'ask' });
    toolCalls = { trains: { name: 'remember', arguments: MEMORY } };
    await client.send('Plan a trip to Lyon');
    const card = await client.shown(({ content }) => content.type === 'action_card');
    await untilAnswered('I have started it.');
    await client.saw(
      'message.updated',
      ({ message }: { message: MessageData }) =>
        isWorkflow(message) && message.content.steps[1]?.status === 'completed',
    );
    expect((await latest()).steps.map(({ status }) => status)).toEqual(['running', 'completed', 'pending']);
    await client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`, {
      action_id: 'approve',
    });
    await untilShown('completed');
    await untilAnswered('Your trip is planned.');
    expect(await results()).toEqual(COMPLETED);
    const memories = await services.query(
      'SELECT m.key FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1',
      [client.workspaceId],
    );
    expect(memories).toEqual([{ key: 'trip' }]);
  });
});
