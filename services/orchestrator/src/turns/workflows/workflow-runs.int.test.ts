import { describe, expect, it } from '@jest/globals';
import { type ErrorBody, LIMITS } from '@uswarm/contract';
import type { OfferedContent } from '../content/agent-content-schema.js';
import { createWorkflowReports } from './workflow-reports.js';
import { TURN_CONTEXT } from '../../../test/turn-context.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { beginWorkflowTurn } from '../../../test/workflows.js';
import { findTurnsOfMessage, isStopRequested, getTurn } from '../turns.store.js';
import { findToolCall } from '../tools/tool-calls.store.js';

const DIAMOND = [
  { id: 'a' },
  { id: 'b', agent: 'writer', after: ['a'] },
  { id: 'c', after: ['a'] },
  { id: 'd', after: ['b', 'c'] },
];

describe('a workflow', () => {
  const world = useTurnFixture();

  it('is shown by a message of the agent that starts it, and starts the steps that need no other', async () => {
    const run = await beginWorkflowTurn(world);
    const { text, showsMessage } = await run.start(DIAMOND);
    const { id, message_id, ...workflow } = await run.workflow();
    expect(text).toContain(`Started the workflow ${id}.`);
    expect(showsMessage).toBe(true);
    expect(workflow).toMatchObject({
      conversation_id: run.turn.conversation_id,
      name: 'Trip',
      agent_slug: 'manager',
      status: 'running',
      finished_at: null,
      steps: [
        { step_id: 'a', agent_slug: 'researcher', task: 'Do a.', after: [], status: 'running', result: null },
        { step_id: 'b', agent_slug: 'writer', after: ['a'], status: 'pending', started_at: null },
        { step_id: 'c', after: ['a'], status: 'pending' },
        { step_id: 'd', after: ['b', 'c'], status: 'pending' },
      ],
    });
    const steps = workflow.steps.map(({ task: _task, after: _after, result: _result, ...shown }) => shown);
    expect(await run.messages('workflow')).toMatchObject([
      {
        id: message_id,
        role: 'agent',
        content: { workflow_id: id, workflow_name: 'Trip', execution_id: id, status: 'running', steps },
      },
    ]);
    expect(Object.keys(await run.turns())).toEqual(['a']);
  });

  it('gives each step its task and the results that it needs, and ends with a report of its agent', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start(DIAMOND);
    await run.finish();
    const first = await run.end('a', 'completed', 'Train at 9:07.');
    expect(first).toMatchObject({ task_depth: 1, task_prompt: expect.stringContaining('Task:\nDo a.') });
    const { b, c } = await run.turns();
    expect(b?.turn.task_prompt).toContain('Train at 9:07.');
    expect(c?.turn.agent_id).toBe(first.agent_id);
    await run.end('b');
    expect(await run.statuses()).toEqual({ a: 'completed', b: 'completed', c: 'running', d: 'pending' });
    await run.end('c');
    const last = await run.end('d', 'completed', 'All done.');
    expect(last.task_prompt).toMatch(/Result of b\.[^]*Result of c\./);
    expect(last.task_prompt).not.toContain('Train at 9:07.');

    const workflow = await run.workflow();
    expect(workflow).toMatchObject({ status: 'completed', finished_at: expect.any(String) });
    expect(workflow.steps.map(({ result }) => result)).toEqual([
      'Train at 9:07.',
      'Result of b.',
      'Result of c.',
      'All done.',
    ]);
    expect(await run.messages('workflow')).toMatchObject([{ content: { status: 'completed' } }]);
    const [note] = await run.messages('system');
    expect(note).toMatchObject({ role: 'system', content: { text: 'The workflow “Trip” is completed.' } });
    const report = await world.turnWorker.turnOf(await world.turnWorker.claim());
    expect(report).toMatchObject({ agent_id: run.turn.agent_id, user_message_id: note?.id, task_depth: null });
    const reports = createWorkflowReports(world.turnWorker.stores.database);
    const prompt = await reports.promptFor(report.user_message_id);
    for (const text of ['“completed”', 'Train at 9:07.', 'Result of b.', 'All done.']) expect(prompt).toContain(text);
    expect(await reports.promptFor(run.turn.user_message_id)).toBeUndefined();
  });

  it('is reported although the queue of its conversation is full', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start([{ id: 'a' }]);
    await run.finish();
    for (let count = 0; count < LIMITS.queuedTurns; count += 1)
      await world.user.post(world.home.messages, { content: { type: 'text', text: 'hello' } }, 201);
    await run.end('a');
    expect(await run.workflow()).toMatchObject({ status: 'completed' });
    const [note] = await run.messages('system');
    const turns = await findTurnsOfMessage(world.turnWorker.stores.database, run.turn.workspace_id, note?.id ?? '');
    expect(turns).toMatchObject([{ status: 'queued', agent_id: run.turn.agent_id }]);
  });

  it('fails the steps that need a failed one, and reports the others', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start([{ id: 'a' }, { id: 'b', after: ['a'] }, { id: 'c' }]);
    await run.end('a', 'failed', '');
    expect(await run.statuses()).toEqual({ a: 'failed', b: 'failed', c: 'running' });
    await run.end('c');
    const { status, steps } = await run.workflow();
    expect(status).toBe('failed');
    expect(steps).toMatchObject([
      { result: 'The model declined to answer.', started_at: expect.any(String) },
      { result: 'Not started, because the step “a” failed.', started_at: null, finished_at: expect.any(String) },
      { result: 'Result of c.' },
    ]);
    expect(await run.messages('system')).toMatchObject([{ content: { text: 'The workflow “Trip” has failed.' } }]);
  });

  it('runs at most five steps at the same time', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start(Array.from({ length: 7 }, (_, number) => ({ id: `s${number}` })));
    expect(Object.keys(await run.turns())).toEqual(['s0', 's1', 's2', 's3', 's4']);
    await run.end('s3');
    expect(Object.keys(await run.turns())).toEqual(['s0', 's1', 's2', 's4', 's5']);
  });

  it('stores at most 16 KiB of a result', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start([{ id: 'a' }]);
    await run.end('a', 'completed', '€'.repeat(10_000));
    const { steps } = await run.workflow();
    const bytes = Buffer.byteLength(steps[0]?.result ?? '');
    expect(bytes).toBeGreaterThan(LIMITS.taskResultBytes - 100);
    expect(bytes).toBeLessThanOrEqual(LIMITS.taskResultBytes);
  });

  it('is started once per call', async () => {
    const run = await beginWorkflowTurn(world);
    const plan = { name: 'Trip', steps: [{ id: 'a', name: 'A', agent: 'writer', task: 'Do it.' }] };
    const first = await run.call('start_workflow', plan, { id: 'one' });
    expect(await run.call('start_workflow', plan, { id: 'one' })).toEqual(first);
    expect(await run.messages('workflow')).toHaveLength(1);
  });

  it.each([
    [
      'an unknown agent',
      [{ id: 'a', agent: 'lawyer' }],
      /^Step “a”: there is no agent “lawyer”\. The agents are “manager”, .*Nothing was started\.$/,
    ],
    ['a cycle', [{ id: 'a', after: ['a'] }], /^Steps wait for each other: “a” after “a”\./],
    ['no step', [], /^start_workflow: steps: A workflow needs at least one step\.$/],
    ['13 steps', Array.from({ length: 13 }, (_, n) => ({ id: `s${n}` })), /at most 12 steps\. Combine some\.$/],
  ])('is not started by a plan with %s, and the model learns why', async (_what, steps, message) => {
    const run = await beginWorkflowTurn(world);
    expect(await run.start(steps)).toMatchObject({ failed: true, text: expect.stringMatching(message) });
    expect(await run.messages('workflow')).toEqual([]);
  });

  it('is not started while ten run in the workspace', async () => {
    const run = await beginWorkflowTurn(world);
    for (let count = 0; count < LIMITS.runningWorkflows; count += 1) await run.start([{ id: 'a' }]);
    expect(await run.start([{ id: 'a' }])).toMatchObject({
      failed: true,
      text: '10 workflows are running already. Wait until one has ended.',
    });
    expect(await run.messages('workflow')).toHaveLength(LIMITS.runningWorkflows);
  });

  it('is not started by the report of another one', async () => {
    const run = await beginWorkflowTurn(world);
    await run.start([{ id: 'a' }]);
    await run.end('a');
    await run.finish();
    const [note] = await run.messages('system');
    const reporting = await beginWorkflowTurn({
      ...world,
      user: { ...world.user, post: async () => ({ body: undefined }) as never },
    });
    expect(reporting.turn.user_message_id).toBe(note?.id);
    expect(await reporting.start([{ id: 'a' }])).toMatchObject({
      failed: true,
      text: expect.stringMatching(/^You report the end of a workflow\./),
    });
  });

  describe('that the user cancels', () => {
    it('starts no further step, and ends the running ones without a report', async () => {
      const run = await beginWorkflowTurn(world);
      await run.start([{ id: 'a' }, { id: 'b' }, { id: 'c', after: ['a'] }]);
      const { id } = await run.workflow();
      const { a } = await run.turns();
      const writer = await world.turnWorker.writerOf(a!.job);
      await writer.begin();
      await world.user.post(`${run.path}/${id}/cancel`, undefined, 204);
      expect(await run.workflow()).toMatchObject({ status: 'cancelled', finished_at: expect.any(String) });
      expect(await run.statuses()).toEqual({ a: 'running', b: 'running', c: 'failed' });
      const { database } = world.turnWorker.stores;
      expect(await isStopRequested(database, a!.turn.id)).toBe(true);
      await writer.finish({ turnStatus: 'stopped', messageStatus: 'failed', text: 'So far', errorCode: 'stopped' });
      await run.end('b', 'stopped', '');
      expect((await run.workflow()).steps).toMatchObject([
        { status: 'failed', result: 'So far' },
        { status: 'failed', result: 'The step was stopped.' },
        { status: 'failed', result: 'Not started, because the workflow was cancelled.' },
      ]);
      expect(await run.messages('workflow')).toMatchObject([{ content: { status: 'cancelled' } }]);
      expect(await run.messages('system')).toEqual([]);
      const again = await world.user.post<ErrorBody>(`${run.path}/${id}/cancel`, undefined, 409);
      expect(again.body.code).toBe('workflow_not_running');
    });

    it('is the one whose message is stopped', async () => {
      const run = await beginWorkflowTurn(world);
      await run.start([{ id: 'a' }, { id: 'b', after: ['a'] }]);
      const { message_id: messageId } = await run.workflow();
      const stop = `${world.home.workspace}/messages/${messageId}/stop`;
      await world.user.post(stop, undefined, 204);
      expect(await run.workflow()).toMatchObject({ status: 'cancelled' });
      await run.end('a', 'stopped', '');
      expect(await world.user.refusal('POST', stop)).toBe('turn_not_running');
    });

    it('is the one with the step that is stopped', async () => {
      const run = await beginWorkflowTurn(world);
      await run.start([{ id: 'a' }, { id: 'b' }, { id: 'c', after: ['a'] }]);
      await run.end('a', 'stopped', '');
      expect(await run.statuses()).toEqual({ a: 'failed', b: 'running', c: 'failed' });
      const { b } = await run.turns();
      expect(b?.turn.stop_requested).toBe(true);
    });
  });

  describe('that waits for the user', () => {
    /** Suspends a step's turn, as one that waits for an approval. */
    async function suspended() {
      const run = await beginWorkflowTurn(world);
      await run.start([{ id: 'a' }, { id: 'b', after: ['a'] }]);
      await run.finish();
      const { a } = await run.turns();
      const { turn, job } = a!;
      const writer = await world.turnWorker.writerOf(job);
      await writer.begin();
      await writer.setInstance({ instance: { id: 'i', budgeted: false, context: TURN_CONTEXT }, untrusted: [] });
      const card = {
        type: 'action_card',
        title: 'Approve?',
        description: '',
        actions: [{ id: 'approve', label: 'Approve', style: 'primary' }],
      } satisfies OfferedContent;
      await writer.ask({ id: 'call', tool: 't', argumentsHash: Buffer.alloc(32), card });
      await writer.suspend('', ['call']);
      return { ...run, turn };
    }

    it('stays running, and continues with the decision', async () => {
      const run = await suspended();
      expect(await run.statuses()).toEqual({ a: 'running', b: 'pending' });
      const [card] = await run.messages('action_card');
      await world.user.post(`${world.home.workspace}/messages/${card?.id}/action`, { action_id: 'approve' }, 200);
      const job = await world.turnWorker.claim();
      const continued = await world.turnWorker.turnOf(job);
      expect(continued).toMatchObject({ usage_turn_id: run.turn.id, task_depth: 1 });
      const writer = await world.turnWorker.writerOf(job);
      await writer.begin();
      await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Sent.', errorCode: null });
      expect((await run.workflow()).steps[0]).toMatchObject({ status: 'completed', result: 'Sent.' });
      expect(await run.statuses()).toEqual({ a: 'completed', b: 'running' });
    });

    it('continues without the call, and does not ask again, when the user deletes its card', async () => {
      const run = await suspended();
      const [card] = await run.messages('action_card');
      await world.user.delete(`${world.home.workspace}/messages/${card?.id}`, undefined, 204);
      const continued = await world.turnWorker.turnOf(await world.turnWorker.claim());
      const outcome = await findToolCall(world.uswarm.database, continued.id, 'call');
      expect(outcome).toMatchObject({ failed: true, text: expect.stringContaining('The user deleted the request') });
    });

    it('ends with its card when it is cancelled', async () => {
      const run = await suspended();
      const { id } = await run.workflow();
      await world.user.post(`${run.path}/${id}/cancel`, undefined, 204);
      expect(await run.statuses()).toEqual({ a: 'failed', b: 'failed' });
      expect(await run.messages('action_card')).toMatchObject([{ status: 'failed' }]);
      expect(await getTurn(world.turnWorker.stores.database, run.turn.id)).toMatchObject({ status: 'stopped' });
    });

    it('is cancelled when the user deletes the message that led to it', async () => {
      const run = await suspended();
      await world.user.delete(`${world.home.workspace}/messages/${run.turn.user_message_id}`, undefined, 204);
      expect(await run.workflow()).toMatchObject({ status: 'cancelled' });
      expect(await run.statuses()).toEqual({ a: 'failed', b: 'failed' });
    });
  });

  describe('that runs', () => {
    const rows = async (workspaceId: string) => ({
      workflows: await world.uswarm.database
        .selectFrom('workflows')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .execute(),
      unfinished: await world.uswarm.database
        .selectFrom('turns')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('status', 'in', ['queued', 'running'])
        .where('stop_requested', '=', false)
        .execute(),
    });
    const NOTHING = { workflows: [], unfinished: [] };
    const started = async () => {
      const run = await beginWorkflowTurn(world);
      await run.start([{ id: 'a' }, { id: 'b', after: ['a'] }]);
      await run.finish();
      return run;
    };

    it('is deleted with its message, and its steps end', async () => {
      const run = await started();
      const { message_id: messageId } = await run.workflow();
      await world.user.delete(`${world.home.workspace}/messages/${messageId}`, undefined, 204);
      expect(await rows(run.turn.workspace_id)).toEqual(NOTHING);
    });

    it('is deleted with the reply that started it, when the user regenerates that reply', async () => {
      const run = await started();
      const [reply] = (await run.messages('text')).filter(({ role }) => role === 'agent');
      await world.user.post(`${world.home.workspace}/messages/${reply?.id}/regenerate`, undefined, 200);
      const { workflows, unfinished } = await rows(run.turn.workspace_id);
      expect(workflows).toEqual([]);
      // The turn that answers again.
      expect(unfinished).toHaveLength(1);
    });

    it('is deleted with its conversation', async () => {
      const run = await started();
      await world.user.delete(world.home.conversation, undefined, 204);
      expect(await rows(run.turn.workspace_id)).toEqual(NOTHING);
    });
  });
});
