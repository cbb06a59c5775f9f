import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import type { ModelStep } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { delegate, isTask, useDelegatingAgents } from '../test/delegating-agents.js';

const directory = mkdtempSync(path.join(tmpdir(), 'uswarm-plans-'));
const plansFile = path.join(directory, 'plans.json');
/** The tokens that an answer and its tasks may use. */
const BUDGET = 60_000;
const PLAN = { code: 'free', name: 'Free', token_limit: 1e9, workspace_token_limit: 1e9, turn_token_limit: BUDGET };
writeFileSync(plansFile, JSON.stringify([PLAN]));

/** Content of a tool result's block, which names the tool as its source. */
const read = (result: string): string =>
  /^<untrusted id="(\w+)" source="\w+">\n([^]*)\n<\/untrusted id="\1">$/.exec(result)?.[2] ?? '';

describe('the result of a task that the manager reads', () => {
  const world = useDelegatingAgents({ PLANS_FILE: plansFile });
  const { delegations, answer, budgets, expectNothingLeft } = world;
  afterAll(() => rmSync(directory, { recursive: true }));

  /** The manager gives tasks, and the model of their agents does the same each time. @returns what the manager read */
  async function resultsOf(
    work: ModelStep[],
    given = delegate('writer'),
    meanwhile: () => Promise<void> = () => Promise.resolve(),
  ): Promise<readonly string[]> {
    let told: readonly string[] = [];
    world.behave = (_agent, prompt, results) => {
      if (isTask(prompt)) return work;
      if (results.length === 0) return given;
      told = results.map(read);
      return [{ text: 'Done.' }];
    };
    await world.client.send('Ask your team');
    await meanwhile();
    await answer('Done.');
    await expectNothingLeft();
    return told;
  }

  const statuses = async () => (await delegations()).map(({ status }) => status);

  it.each<[string, ModelStep[], string]>([
    [
      'the provider rejects its model call',
      [{ error: { status: 400, message: 'no' } }],
      'The task failed.\nThe model rejected this request.\nThe model provider rejected the request (status 400).',
    ],
    ['its model refuses', [{ finish: 'refused' }], 'The task failed.\nThe model declined to answer.'],
    [
      'its model refuses after some text',
      [{ text: 'Half. ' }, { finish: 'refused' }],
      'The task failed.\nThe model declined to answer.\nHalf. ',
    ],
  ])('STATE-003 reports a failure if %s', async (_why, work, expected) => {
    expect(await resultsOf(work)).toEqual([expected]);
    expect(await statuses()).toEqual(['failed']);
  });

  it('STATE-003 reports a time-out if its deadline passes, also while no orchestrator runs', async () => {
    let told: readonly string[] = [];
    world.behave = (_agent, prompt, results) => {
      if (isTask(prompt)) return [{ hold: 'late' }, { text: 'Late.' }];
      if (results.length === 0) return delegate('writer');
      told = results.map(read);
      return [{ text: 'Done.' }];
    };
    await world.client.send('Ask your team');
    await world.model.reached('late');
    // The manager's turn waits, so that only the task is late.
    await eventually(async () => {
      const running = await world.services.query(
        `SELECT id FROM turns WHERE workspace_id = $1 AND status = 'running'`,
        [world.client.workspaceId],
      );
      return running.length === 1;
    });
    await world.services.kill('the orchestrator', world.client.workspaceId);
    await world.services.query(
      `UPDATE turns SET started_at = now() - interval '1 day' WHERE workspace_id = $1 AND status = 'running'`,
      [world.client.workspaceId],
    );
    await world.services.recover('the orchestrator');
    await eventually(() => told.length > 0);
    expect(told).toEqual(['The task failed.\nThe reply timed out. Please try again.']);
    await expectNothingLeft();
    expect(await statuses()).toEqual(['failed']);
  });

  it('invariant 9: STATE-003 reports the end of a task that has used its share of the tokens, with what it has', async () => {
    const memory = { name: 'remember', arguments: { key: 'tea', content: 'Tea is green.' } };
    const work = [{ text: 'A fact. ' }, { toolCalls: [memory] }, { usage: { prompt: BUDGET / 6, completion: 100 } }];
    expect(await resultsOf(work)).toEqual(['The task failed.\nThe tokens for this task are used up.\nA fact. ']);
    expect(await statuses()).toEqual(['failed']);
    expect(world.calls).toEqual(['manager', 'writer', 'manager']);
    expect(await budgets()).toEqual({ tasks: 1, left: true });
  });

  it('invariant 9: refuses a task if no tokens are left for it', async () => {
    const given = [...delegate('writer'), { usage: { prompt: BUDGET - 5, completion: 2 } }];
    expect(await resultsOf([], given)).toEqual(['No tokens are left for a task. Answer with what you have.']);
    expect(await statuses()).toEqual([]);
  });

  it('runs five of seven tasks at a time, and the others after them', async () => {
    const agents = ['researcher', 'writer', 'coder', 'analyst', 'researcher', 'writer', 'coder'];
    const work = [{ hold: 'five' }, { text: 'Facts.' }];
    let first = 0;
    const results = await resultsOf(work, delegate(...agents), async () => {
      await eventually(() => world.calls.length === 1 + LIMITS.parallelDelegations);
      await eventually(async () => (await statuses()).length === agents.length);
      first = world.calls.length - 1;
      world.model.release('five');
    });
    expect(first).toBe(LIMITS.parallelDelegations);
    expect(results).toEqual(agents.map(() => 'Facts.'));
    expect(await statuses()).toEqual(agents.map(() => 'completed'));
  });

  it('refuses to hand a message back to an agent that has answered it', async () => {
    let told: readonly string[] = [];
    const handOver = (agent: string): ModelStep[] => [{ toolCalls: [{ name: 'hand_over', arguments: { agent } }] }];
    world.behave = (agent, _prompt, results) => {
      if (agent === 'manager') return handOver('coder');
      if (results.length === 0) return handOver('manager');
      told = results.map(read);
      return [{ text: 'Done.' }];
    };
    await world.client.send('A question about code');
    await answer('Done.');
    expect(told).toEqual(['@manager has answered this message already. Answer yourself.']);
    expect(world.calls).toEqual(['manager', 'coder', 'coder']);
    await expectNothingLeft();
  });

  it('names an unknown agent and those that can get a task', async () => {
    expect(await resultsOf([], delegate('poet'))).toEqual([
      'There is no agent poet. There are: researcher, analyst, writer, coder.',
    ]);
  });
});
