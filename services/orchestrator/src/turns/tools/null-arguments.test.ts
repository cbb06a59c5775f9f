import { describe, expect, it } from '@jest/globals';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import fc from 'fast-check';
import { createMemoryTools } from '../../workspaces/agents/memory-tools.js';
import { createOwnAgentTools } from '../../workspaces/agents/own-agent-tools.js';
import { createArtifactTools } from '../../workspaces/artifacts/artifact-tools.js';
import { createGmailTools } from '../../apps/connected-apps/gmail-tools.js';
import { createCalendarTools } from '../../apps/connected-apps/google-calendar-tools.js';
import { createDelegationTools } from '../delegations/delegation-tools.js';
import { createWorkflowTools } from '../workflows/workflow-tools.js';
import type { PlatformTool, ToolCall } from './platform-tool.js';
import { parseArguments } from './prepare-call.js';

/** Replaces every tool dependency: functions return nothing, and other values are limits. */
const nothing: never = new Proxy(() => Promise.resolve(undefined), {
  get: (_target, name) => (name === 'then' ? undefined : name === Symbol.toPrimitive ? () => 10_000 : nothing),
}) as never;

const TOOLS: PlatformTool[] = [
  ...createMemoryTools(nothing),
  ...createOwnAgentTools({ database: nothing, changes: nothing, tools: AGENT_TOOLS }),
  ...createArtifactTools(nothing),
  ...createCalendarTools(nothing),
  ...createGmailTools(nothing),
  ...createDelegationTools(nothing),
  ...createWorkflowTools(nothing),
];
const MOMENTS = { start: '2026-11-23T10:00:00Z', end: '2026-11-23T11:00:00Z' };
const MAIL = { to: ['bob@example.com'], subject: 'Lunch', body: 'Tuesday?' };
const ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const REQUIRED: Record<string, Record<string, unknown>> = {
  remember: { key: 'tea', content: 'Darjeeling' },
  recall: { query: 'tea' },
  forget: { key: 'tea' },
  add_agent: { name: 'Tax adviser' },
  change_agent: { agent: 'writer', description: 'Writes.' },
  remove_agent: { agent: 'writer' },
  create_artifact: { title: 'List', content: 'Tea' },
  edit_artifact: { artifact_id: ID, old: 'Tea', new: 'Coffee' },
  revise_artifact: { artifact_id: ID, expected_version: 1, content: 'Tea' },
  finish_artifact: { artifact_id: ID },
  read_artifact: { artifact_id: ID },
  list_artifacts: {},
  list_calendar_events: { from: MOMENTS.start, to: MOMENTS.end },
  create_calendar_event: { title: 'Dentist', ...MOMENTS },
  move_calendar_event: { event_id: 'e1', ...MOMENTS },
  delete_calendar_event: { event_id: 'e1' },
  search_mail: { query: 'from:bob' },
  read_mail: { mail_id: 'm1' },
  create_mail_draft: MAIL,
  send_mail: MAIL,
  delegate: { agent: 'researcher', task: 'Find tea.', expected: 'A list.' },
  hand_over: { agent: 'researcher' },
  start_workflow: { name: 'Tea', steps: [{ id: 'a', name: 'Find', agent: 'researcher', task: 'Find tea.' }] },
};

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
}
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Sets each optional field to null whose name `chosen` selects. */
function withNulls(value: unknown, schema: JsonSchema, chosen: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((entry) => withNulls(entry, schema.items ?? {}, chosen));
  if (!isObject(value)) return value;
  const { properties = {}, required = [] } = schema;
  const optional = Object.keys(properties).filter((name) => !required.includes(name) && chosen(name));
  const given = Object.entries(value).map(([name, field]) => [name, withNulls(field, properties[name] ?? {}, chosen)]);
  return { ...Object.fromEntries(given), ...Object.fromEntries(optional.map((name) => [name, null])) };
}

const CALL = { id: 'c', agentId: 'a', userId: 'u', workspaceId: 'w', signal: new AbortController().signal } as ToolCall;
/** Returns the validation problem and the texts that the user sees. */
const understood = async (tool: PlatformTool, input: unknown) => ({
  problem: tool.check(input),
  line: tool.describe(input),
  preview: await tool.preview(input, CALL).catch((error: unknown) => String(error)),
});

describe('a tool of the orchestrator', () => {
  it('is tested with its required arguments', () => {
    expect(TOOLS.map(({ name }) => name).toSorted()).toEqual(Object.keys(REQUIRED).toSorted());
  });

  it.each(TOOLS.map((tool) => ({ name: tool.name, tool })))(
    '$name understands optional arguments that are null as absent ones',
    async ({ name, tool }) => {
      const input = REQUIRED[name];
      const all = withNulls(input, tool.inputSchema, () => true);
      expect(tool.check(input)).toBeUndefined();
      expect(await understood(tool, all)).toEqual(await understood(tool, input));
    },
  );

  it('understands any of its optional arguments as null', async () => {
    const tool = fc.constantFrom(...TOOLS);
    const property = fc.asyncProperty(tool, fc.func(fc.boolean()), async (one, chosen) => {
      const input = REQUIRED[one.name];
      expect(await understood(one, withNulls(input, one.inputSchema, chosen))).toEqual(await understood(one, input));
    });
    await fc.assert(property);
  });

  it('understands null instead of all arguments as none', () => {
    const tool = TOOLS.find(({ name }) => name === 'list_artifacts')!;
    expect(tool.check(parseArguments('null'))).toBeUndefined();
  });

  it.each([
    ['a required argument', { to: null, subject: 's', body: 'b' }, 'send_mail: to: '],
    ['an entry of a list', { ...MAIL, to: ['bob@example.com', null] }, 'send_mail: to.1: '],
  ])('names %s that is null in its error', (_what, input, beginning) => {
    const tool = TOOLS.find(({ name }) => name === 'send_mail')!;
    expect(tool.check(input)?.text).toContain(beginning);
  });
});
