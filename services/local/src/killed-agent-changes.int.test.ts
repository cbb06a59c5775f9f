import { describe, expect, it } from '@jest/globals';
import type { AgentSummary, Workspace } from '@uswarm/contract';
import { useDelegatingAgents } from '../test/delegating-agents.js';
import { KILLED } from '../test/separate.js';

const CALLS = {
  add_agent: { name: 'Poet', instructions: 'Rhyme.' },
  change_agent: { agent: 'writer', name: 'Poet', instructions: 'Rhyme.' },
  remove_agent: { agent: 'writer' },
} as const;
const SLUGS = ['manager', 'researcher', 'analyst', 'writer', 'coder'];
const AFTER: Record<keyof typeof CALLS, string[]> = {
  add_agent: [...SLUGS, 'poet'],
  change_agent: SLUGS,
  remove_agent: SLUGS.filter((slug) => slug !== 'writer'),
};

const CASES = (Object.keys(CALLS) as (keyof typeof CALLS)[]).flatMap((tool) =>
  KILLED.map((killed) => ({ tool, killed })),
);

describe('a change of the agents by the manager', () => {
  const world = useDelegatingAgents({ WORK_LEASE_MS: '3000' });

  const get = async <Data>(path: string): Promise<Data> => {
    const { body } = await world.client.api('GET', `/v1/workspaces/${world.client.workspaceId}${path}`);
    return (body as { data: Data }).data;
  };

  it.each(CASES)('invariant 4: $tool happens once if $killed is killed before the commit', async ({ tool, killed }) => {
    const { services, model, client } = world;
    const hold = `${tool}-${killed}`;
    world.behave = (_agent, _prompt, results) =>
      results.length === 0 ? [{ hold }, { toolCalls: [{ name: tool, arguments: CALLS[tool] }] }] : [{ text: 'Done.' }];
    const before = (await get<Workspace>('')).agents_rev;
    await client.send('Change my team');
    await model.reached(hold);
    // The agent has been changed, and the call's outcome is not stored yet.
    const unlock = await services.lockWrites('tool_calls');
    model.release(hold);
    await services.untilBlocked();
    await services.kill(killed, client.workspaceId);
    await unlock();
    await services.recover(killed);
    await world.answer('Done.');
    expect((await get<AgentSummary[]>('/agents')).map(({ slug }) => slug)).toEqual(AFTER[tool]);
    const shown = `SELECT content ->> 'tool' AS tool, content ->> 'state' AS state FROM messages
      WHERE workspace_id = $1 AND content ->> 'type' = 'tool_status'`;
    expect(await services.query(shown, [client.workspaceId])).toEqual([{ tool, state: 'completed' }]);
    const receipts = `SELECT tool, status FROM receipts WHERE workspace_id = $1`;
    expect(await services.query(receipts, [client.workspaceId])).toEqual([{ tool, status: 'succeeded' }]);
    expect((await get<Workspace>('')).agents_rev).not.toBe(before);
    await world.expectNothingLeft();
  });
});
