import {
  AgentModel,
  type AgentPrompt,
  AgentSkill,
  type AgentTool,
  ApiError,
  CreateAgentBody,
  LIMITS,
} from '@uswarm/contract';
import { AGENTS_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import type { Tool } from '../../platform/core/catalog.js';
import type { Database, Transaction } from '../../platform/database/database.js';
import { visibleLine } from '../../platform/http/visible-text.js';
import { changeAgentSettings, findAgentSettings, setAgentTool } from '../../records/agent-settings.store.js';
import { toolsForKind, toolSetting, toolsOf } from '../../records/agent-tools.js';
import { findAgentDetails, listMembers, type SwarmMember } from '../../records/agents.store.js';
import { failed, succeeded } from '../../turns/tools/outcomes.js';
import {
  type Change,
  type Commit,
  definePlatformTool,
  type PlatformTool,
  type ToolCall,
  type ToolOutcome,
} from '../../turns/tools/platform-tool.js';
import type { AgentChanges } from './agent-changes.js';
import { describedChange } from './own-agents.service.js';

export interface OwnAgentToolDeps {
  database: Database;
  changes: AgentChanges;
  tools: readonly Tool[];
}

/** The manager's prompt. It does not touch the user's prompts. */
const PROMPT_ID = 'manager';

const common = {
  switchedBy: AGENTS_TOOL,
  effect: 'own',
  // An agent outlasts the conversation.
  asksAfterUntrustedContent: true,
  maxDepth: 0,
} as const;

const Slug = z.string().overwrite((slug) => slug.trim().replace(/^@/, '').toLowerCase());
const Agent = Slug.min(1).describe('Its name after the @.');
const Name = CreateAgentBody.shape.name.overwrite(visibleLine).min(1);
// Without the contract's ids, which would become references.
const Skill = z.enum(AgentSkill.options);

const profile = {
  role: CreateAgentBody.shape.role.describe('Its job title.'),
  description: CreateAgentBody.shape.description.describe(
    'Its strengths, in one or two sentences. All agents read it.',
  ),
  skills: z
    .array(Skill)
    .overwrite((skills) => [...new Set(skills)])
    .optional(),
  avatar_url: CreateAgentBody.shape.avatar_url.describe(
    'The https address of its picture, if the user names one. Empty for the default picture.',
  ),
  model: z.enum(AgentModel.options).optional().describe('Only if the user names one.'),
  instructions: z
    .string()
    .trim()
    .max(LIMITS.promptText)
    .optional()
    .describe('What it always has to follow. They replace your earlier ones.'),
};

function choicesOf(catalog: readonly Tool[]) {
  const Choice = z.object({
    name: z.enum(catalog.map(({ name }) => name)),
    permission: z.enum(['allow', 'ask', 'deny']),
  });
  return z.array(Choice).optional().describe('Only tools whose permission changes.');
}
type Choices = z.output<ReturnType<typeof choicesOf>>;

const promptOf = (content: string): AgentPrompt => ({ id: PROMPT_ID, name: '', description: '', content });

const RANKS = { deny: 0, ask: 1, allow: 2 } as const;
const exceeds = (one: keyof typeof RANKS, other: keyof typeof RANKS): boolean => RANKS[one] > RANKS[other];

/** An agent gives no permission that it does not have: otherwise it could do through another agent what it must not do. */
function problemOf(choices: Choices, catalog: readonly Tool[], own: readonly AgentTool[]): string | undefined {
  for (const { name, permission } of choices ?? []) {
    if (permission === 'ask' && catalog.find((tool) => tool.name === name)?.changes === false)
      return `${name} changes nothing, so it never asks. Choose allow or deny.`;
    const limit = own.find((tool) => tool.name === name)?.permission ?? 'deny';
    if (exceeds(permission, limit))
      return `Your own permission for ${name} is ${limit}, so you cannot give “${permission}”. The user can do it in the agent's settings.`;
  }
  return undefined;
}

/** A new agent's permissions that are not the default: the chosen ones, and those with which the manager limits it. Pure. */
function permissionsOf(choices: Choices, catalog: readonly Tool[], own: readonly AgentTool[]) {
  return catalog.flatMap((tool) => {
    const byDefault = tool.enabled ? tool.permission : 'deny';
    const wanted = choices?.find(({ name }) => name === tool.name)?.permission ?? byDefault;
    const limit = own.find(({ name }) => name === tool.name)?.permission ?? 'deny';
    const permission = exceeds(wanted, limit) ? limit : wanted;
    return permission === byDefault ? [] : [{ name: tool.name, ...toolSetting({ permission }) }];
  });
}

const REFUSALS: Record<string, string> = {
  workspace_not_found: 'The workspace no longer exists.',
  agent_limit_reached: `There are ${LIMITS.subAgents} agents besides the manager, and no more are possible. Ask the user which one to remove.`,
  agent_is_manager: 'The manager cannot be removed. It can be renamed and changed.',
};

/** The changes check before they write, so the transaction can continue after an error. */
const orRefused =
  (commit: Commit): Commit =>
  async (tx) => {
    try {
      return await commit(tx);
    } catch (error) {
      const refusal = error instanceof ApiError ? REFUSALS[error.code] : undefined;
      if (refusal === undefined) throw error;
      return failed(refusal);
    }
  };

const isOutcome = (found: object): found is ToolOutcome => 'failed' in found;

function memberOf(members: readonly SwarmMember[], slug: string): SwarmMember | ToolOutcome {
  const others = members.map((member) => member.slug).join(', ');
  return members.find((member) => member.slug === slug) ?? failed(`There is no agent ${slug}. There are: ${others}.`);
}

function nameProblem(members: readonly SwarmMember[], name: string | undefined, ownId?: string): string | undefined {
  const other = members.find(
    (member) => member.id !== ownId && member.name.toLowerCase() === name?.toLowerCase().trim(),
  );
  return (
    other && `There is an agent with the name ${other.name}: @${other.slug}. Change that one, or use another name.`
  );
}

/** The calling agent's tools. */
async function ownTools(tx: Transaction, { userId, agentId }: ToolCall, catalog: readonly Tool[]) {
  const settings = await findAgentSettings(tx, userId, agentId);
  return settings === undefined ? [] : toolsOf(catalog, settings);
}

const choiceLines = (choices: Choices): Change[] =>
  (choices ?? []).map(({ name, permission }) => ({ label: 'Tool', after: `${name}: ${permission}` }));

const LABELS = {
  name: 'Name',
  role: 'Role',
  description: 'Description',
  skills: 'Skills',
  avatar_url: 'Picture',
  model: 'Model',
  instructions: 'Instructions',
} as const;

type Shown = Partial<Record<keyof typeof LABELS, string | readonly string[] | null | undefined>>;
const text = (value: Shown[keyof Shown]): string => (typeof value === 'string' ? value : (value ?? []).join(', '));

const lines = (after: Shown, before: Shown = {}): Change[] =>
  Object.entries(LABELS).flatMap(([field, label]) => {
    const { [field as keyof Shown]: value } = after;
    const { [field as keyof Shown]: old } = before;
    if (value === undefined) return [];
    return [{ label, ...(old === undefined ? {} : { before: text(old) }), after: text(value) }];
  });

function addTool({ changes, tools: all }: OwnAgentToolDeps): PlatformTool {
  const catalog = toolsForKind(all, 'sub-agent');
  return definePlatformTool({
    ...common,
    name: 'add_agent',
    hint: 'add an agent',
    description: 'Adds an agent to the swarm, only if the user asks for it. Choose what the user leaves open.',
    input: z.object({
      name: Name.describe('What the user calls it, such as “Tax adviser”.'),
      ...profile,
      tools: choicesOf(catalog),
    }),
    describe: ({ name }) => `Adding the agent “${name}”`,
    changes: ({ tools, ...agent }) => Promise.resolve([...lines(agent), ...choiceLines(tools)]),
    prepare: (input, call) =>
      orRefused(async (tx) => {
        const { workspaceId } = call;
        const taken = nameProblem(await changes.members(workspaceId, tx), input.name);
        if (taken !== undefined) return failed(taken);
        const own = await ownTools(tx, call, all);
        const problem = problemOf(input.tools, catalog, own);
        if (problem !== undefined) return failed(problem);
        const { instructions = '' } = input;
        const agent = {
          name: input.name,
          role: visibleLine(input.role ?? '') || input.name,
          description: visibleLine(input.description ?? ''),
          skills: input.skills ?? [],
          avatarUrl: input.avatar_url,
          model: input.model,
          prompts: instructions === '' ? [] : [promptOf(instructions)],
          tools: permissionsOf(input.tools, catalog, own),
        };
        const { slug } = await changes.add(workspaceId, agent, tx);
        return succeeded(`Added ${input.name} as @${slug}. You can give it work now.`);
      }),
  });
}

function changeTool({ database, changes, tools: catalog }: OwnAgentToolDeps): PlatformTool {
  return definePlatformTool({
    ...common,
    name: 'change_agent',
    hint: 'rename or change an agent',
    description:
      'Changes an agent of the swarm, also yourself, only if the user asks for it. What is absent stays as it is. The name ' +
      'after the @ never changes.',
    input: z.object({
      agent: Agent,
      name: Name.optional().describe('A new name.'),
      ...profile,
      tools: choicesOf(catalog),
    }),
    describe: ({ agent }) => `Changing the agent @${agent}`,
    async changes({ agent: slug, tools, ...after }, { userId, workspaceId }) {
      const agent = memberOf(await listMembers(database, workspaceId), slug);
      if (isOutcome(agent)) return [...lines(after), ...choiceLines(tools)];
      const [details, settings] = await Promise.all([
        findAgentDetails(database, userId, agent.id),
        findAgentSettings(database, userId, agent.id),
      ]);
      const instructions = settings?.prompts.find(({ id }) => id === PROMPT_ID)?.content ?? '';
      const before = { ...details, model: settings?.model ?? '', instructions };
      return [{ label: 'Agent', after: agent.name }, ...lines(after, before), ...choiceLines(tools)];
    },
    prepare: ({ agent: slug, model, instructions, tools, ...described }, call) =>
      orRefused(async (tx) => {
        const { workspaceId, userId } = call;
        const members = await changes.members(workspaceId, tx);
        const agent = memberOf(members, slug);
        if (isOutcome(agent)) return agent;
        const available = toolsForKind(catalog, agent.kind);
        const unknown = tools?.find(({ name }) => available.every((tool) => tool.name !== name));
        if (unknown !== undefined) return failed(`Only the manager can have the tool ${unknown.name}.`);
        const problem =
          nameProblem(members, described.name, agent.id) ??
          problemOf(tools, available, await ownTools(tx, call, catalog));
        if (problem !== undefined) return failed(problem);
        const settings = await findAgentSettings(tx, userId, agent.id);
        const others = (settings?.prompts ?? []).filter(({ id }) => id !== PROMPT_ID);
        const prompts = instructions ? [...others, promptOf(instructions)] : others;
        if (prompts.length > LIMITS.promptsPerAgent)
          return failed(`The agent has ${others.length} prompts of the user already, and no more are possible.`);
        await changes.describe(workspaceId, agent.id, describedChange(agent, described), tx);
        const change = { model, prompts: instructions === undefined ? undefined : prompts };
        await changeAgentSettings(tx, userId, agent.id, change);
        for (const { name, permission } of tools ?? [])
          await setAgentTool(tx, userId, agent.id, name, toolSetting({ permission }));
        return succeeded(`Changed @${slug}. It applies from the agent's next turn on.`);
      }),
  });
}

function removeTool({ database, changes }: OwnAgentToolDeps): PlatformTool {
  return definePlatformTool({
    ...common,
    name: 'remove_agent',
    hint: 'remove an agent',
    description:
      'Removes an agent of the swarm, only if the user asks for it. It cannot be undone: its work is stopped and its own memories ' +
      'are deleted. What it wrote stays.',
    input: z.object({ agent: Agent }),
    describe: ({ agent }) => `Removing the agent @${agent}`,
    async changes({ agent: slug }, { workspaceId }) {
      const agent = memberOf(await listMembers(database, workspaceId), slug);
      if (isOutcome(agent)) return [{ label: 'Agent', after: `@${slug}` }];
      return lines({ name: agent.name, description: agent.description });
    },
    prepare: ({ agent: slug }, { workspaceId }) =>
      orRefused(async (tx) => {
        const agent = memberOf(await changes.members(workspaceId, tx), slug);
        if (isOutcome(agent)) return agent;
        await changes.remove(workspaceId, agent.id, tx);
        return succeeded(`Removed ${agent.name}. Its messages stay.`);
      }),
  });
}

/** Lets the manager add, change and remove agents. Users do it with the routes of `own-agents.service.ts`. */
export const createOwnAgentTools = (deps: OwnAgentToolDeps): PlatformTool[] => [
  addTool(deps),
  changeTool(deps),
  removeTool(deps),
];
