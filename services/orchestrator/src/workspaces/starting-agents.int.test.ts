import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AgentDetails, AgentSettings, AgentSummary, AgentTool } from '@uswarm/contract';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const PROMPTS = [{ id: 'law', name: 'Law', description: '', content: 'Name the paragraph.' }];
const AGENTS = [
  {
    slug: 'lawyer',
    name: 'Lawyer',
    role: 'Tax lawyer',
    kind: 'sub-agent',
    description: 'Knows tax law.',
    skills: ['analysis'],
    avatar_url: 'https://example.com/lawyer.png',
    model: 'opus',
    response_length: 'short',
    prompts: PROMPTS,
    tools: [
      { name: 'web_search_tool', permission: 'deny' },
      { name: 'memories', permission: 'ask' },
    ],
  },
  { slug: 'manager', name: 'Ada', role: 'Manager', kind: 'manager', description: '', skills: ['planning'] },
];

describe('a new workspace', () => {
  let uswarm: TestOrchestrator;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'agents-'));
    const file = path.join(folder, 'agents.json');
    writeFileSync(file, JSON.stringify(AGENTS));
    uswarm = await startTestOrchestrator({ environment: { AGENTS_FILE: file } });
  });
  afterAll(async () => {
    await uswarm?.close();
    rmSync(folder, { recursive: true });
  });

  it("has the agents of the operator's file with everything that it sets", async () => {
    const user = await uswarm.user();
    const get = async <Data>(at: string) => (await user.get<{ data: Data }>(at)).body.data;
    const [workspace] = await get<{ id: string }[]>('/v1/workspaces');
    const agents = await get<AgentSummary[]>(`/v1/workspaces/${workspace?.id}/agents`);
    expect(agents.map(({ slug, name }) => [slug, name])).toEqual([
      ['manager', 'Ada'],
      ['lawyer', 'Lawyer'],
    ]);
    const lawyer = `/v1/agents/${agents[1]?.id}`;
    expect(await get<AgentDetails>(`${lawyer}/details`)).toMatchObject({
      role: 'Tax lawyer',
      description: 'Knows tax law.',
      skills: ['analysis'],
      avatar_url: 'https://example.com/lawyer.png',
    });
    const settings = { model: 'opus', response_length: 'short', prompts: PROMPTS };
    expect(await get<AgentSettings>(`${lawyer}/settings`)).toEqual(settings);
    const tools = await get<AgentTool[]>(`${lawyer}/tools`);
    expect(Object.fromEntries(tools.map(({ name, permission }) => [name, permission]))).toMatchObject({
      web_search_tool: 'deny',
      memories: 'ask',
      artifacts: 'allow',
    });
  });
});
