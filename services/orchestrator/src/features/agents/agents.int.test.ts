import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentSummary } from '@uswarm/contract';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

describe('agents', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  it('REST-018 GET /v1/workspaces/{workspaceId}/agents lists the agents of the workspace', async () => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    const { body } = await user.get<{ data: AgentSummary[] }>(`/v1/workspaces/${workspaceId}/agents`);
    expect(body.data.map(({ slug }) => slug)).toEqual(['manager', 'researcher', 'analyst', 'writer', 'coder']);
  });

  it('REST-018 shows another workspace its own agents', async () => {
    const [one, other] = [await uswarm.home(await uswarm.user()), await uswarm.home(await uswarm.user())];
    expect(one.agents.map(({ id }) => id)).not.toEqual(other.agents.map(({ id }) => id));
  });

  it('RES-037 a summary has the texts id, name, role, slug and avatar, and a status of the agent routes', async () => {
    const { agents } = await uswarm.home(await uswarm.user());
    expect(agents).toEqual(
      agents.map(() => ({
        id: expect.any(String),
        name: expect.any(String),
        role: expect.any(String),
        slug: expect.any(String),
        avatar: expect.any(String),
        status: 'pending',
      })),
    );
  });

  it.each([
    ['online', 'online'],
    ['reading', 'busy'],
    ['thinking', 'busy'],
    ['writing', 'busy'],
    ['pending', 'pending'],
    ['error', 'error'],
  ] as const)('RES-037 an agent that is %s in a ready runtime shows as %s', async (activity, status) => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    const ready = { phase: 'Ready', identified_at: new Date() } as const;
    await uswarm.database.updateTable('runtimes').set(ready).where('workspace_id', '=', workspaceId).execute();
    await uswarm.database.updateTable('agents').set({ activity }).where('workspace_id', '=', workspaceId).execute();
    const { agents } = await uswarm.home(user);
    expect(new Set(agents.map((agent) => agent.status))).toEqual(new Set([status]));
  });

  it.each([
    ['Pending', 'pending'],
    ['Progressing', 'pending'],
    ['Suspended', 'offline'],
    ['Deleting', 'offline'],
    ['Error', 'error'],
  ] as const)('RES-037 the agents of a runtime in phase %s are %s', async (phase, status) => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    await uswarm.database.updateTable('runtimes').set({ phase }).where('workspace_id', '=', workspaceId).execute();
    const { agents } = await uswarm.home(user);
    expect(new Set(agents.map((agent) => agent.status))).toEqual(new Set([status]));
  });

  it('those of someone else’s workspace are not found, like those of none', async () => {
    const [owner, other] = [await uswarm.user(), await uswarm.user()];
    const { workspace } = await uswarm.home(owner);
    expect(await other.refusal('GET', `${workspace}/agents`)).toBe('workspace_not_found');
    expect(await other.refusal('GET', `/v1/workspaces/${crypto.randomUUID()}/agents`)).toBe('workspace_not_found');
  });
});
