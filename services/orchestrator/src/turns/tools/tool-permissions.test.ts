import { describe, expect, it } from '@jest/globals';
import { AGENT_TOOLS, GMAIL_TOOL, GOOGLE_CALENDAR_TOOL } from '@uswarm/contract/agent-tools';
import { createScheduleTools } from '../../chat/schedules/schedule-tools.js';
import { createMemoryTools } from '../../workspaces/agents/memory-tools.js';
import { createOwnAgentTools } from '../../workspaces/agents/own-agent-tools.js';
import { createCodeTool } from '../../workspaces/files/code-tool.js';
import { createFileTools } from '../../workspaces/files/file-tools.js';
import { createReadFileTool } from '../../workspaces/files/read-file-tool.js';
import { createArtifactTools } from '../../workspaces/artifacts/artifact-tools.js';
import { createGmailTools } from '../../apps/connected-apps/gmail-tools.js';
import { createCalendarTools } from '../../apps/connected-apps/google-calendar-tools.js';
import { createDelegationTools } from '../delegations/delegation-tools.js';
import { createWorkflowTools } from '../workflows/workflow-tools.js';

const UNUSED = {} as never;
const limits = { perAgent: 1, contentBytes: 1, perWorkspace: 1, versions: 1, bytes: 1 };

const tools = [
  ...createMemoryTools({ database: UNUSED, limits }),
  ...createOwnAgentTools({ database: UNUSED, changes: UNUSED, tools: AGENT_TOOLS }),
  ...createArtifactTools({ database: UNUSED, contents: UNUSED, limits }),
  createReadFileTool({ contents: UNUSED, transcripts: UNUSED, fileById: UNUSED, newest: UNUSED }),
  ...createFileTools({ writer: UNUSED, given: UNUSED, markdown: UNUSED }),
  createCodeTool({
    runner: UNUSED,
    bytesOf: UNUSED,
    artifactById: UNUSED,
    fileById: UNUSED,
    newest: UNUSED,
    given: UNUSED,
  }),
  ...createDelegationTools({
    database: UNUSED,
    delegations: UNUSED,
    createViewContext: UNUSED,
    attachmentsIn: UNUSED,
  }),
  ...createWorkflowTools({ database: UNUSED, workflows: UNUSED }),
  ...createScheduleTools({ database: UNUSED, changes: UNUSED, clock: UNUSED }),
  ...createCalendarTools({ api: UNUSED, timeZone: UNUSED }),
  ...createGmailTools({ api: UNUSED }),
];

describe('the default permission of a tool', () => {
  const effectsOf = (name: string) =>
    new Set(tools.flatMap(({ switchedBy, effect }) => (switchedBy === name ? [effect] : [])));
  const external = (effects: ReadonlySet<string>): boolean => effects.has('keyed') || effects.has('once');

  it.each(AGENT_TOOLS)('asks before changes in other systems, and allows all else: $name', ({ name, permission }) => {
    expect(permission).toBe(external(effectsOf(name)) ? 'ask' : 'allow');
  });

  it.each(AGENT_TOOLS)('concerns tools that change something: $name', ({ name, changes }) => {
    const effects = effectsOf(name);
    expect(changes).toBe([...effects].some((effect) => effect !== 'read'));
  });

  it('is known for each tool of the orchestrator', () => {
    const names = AGENT_TOOLS.map(({ name }) => name);
    expect(tools.filter(({ switchedBy }) => !names.includes(switchedBy))).toEqual([]);
    const asking = AGENT_TOOLS.flatMap(({ name, permission }) => (permission === 'ask' ? [name] : []));
    expect(asking).toEqual([GOOGLE_CALENDAR_TOOL, GMAIL_TOOL]);
  });
});
