import { AgentRole, AgentSkill, CreateAgentBody, LIMITS, safeParseRequest } from '@uswarm/contract';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { ConfigError } from '@uswarm/service-kit';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const BUILT_IN = new URL('../../../config/agents.json', import.meta.url);

const AgentTemplate = z
  .strictObject({
    ...CreateAgentBody.shape,
    slug: z
      .string()
      .max(40)
      .regex(/^[a-z](?:-?[a-z0-9])*$/, 'must be lower-case letters, digits and single hyphens'),
    kind: AgentRole,
    role: CreateAgentBody.shape.role.unwrap(),
    description: CreateAgentBody.shape.description.unwrap(),
    skills: z.array(AgentSkill),
  })
  .superRefine(({ kind, tools = [] }, context) => {
    for (const [index, { name, permission }] of tools.entries()) {
      const tool = AGENT_TOOLS.find((each) => each.name === name);
      const report = (message: string): void =>
        context.addIssue({ code: 'custom', path: ['tools', index], message: `${name} ${message}` });
      if (tool === undefined) report(`is unknown; there are ${AGENT_TOOLS.map((each) => each.name).join(', ')}`);
      else if (tool.managerOnly === true && kind !== 'manager') report('is only for the manager');
      else if (permission === 'ask' && !tool.changes) report('changes nothing, so it cannot have the permission ask');
    }
  });
export type AgentTemplate = z.output<typeof AgentTemplate>;

const AgentTemplates = z.array(AgentTemplate).superRefine((agents, context) => {
  const report = (message: string, path: (string | number)[] = []): void =>
    context.addIssue({ code: 'custom', path, message });
  const managers = agents.filter(({ kind }) => kind === 'manager').length;
  if (managers !== 1) report(`exactly one agent must have the kind manager, not ${managers}`);
  if (agents.length - managers > LIMITS.subAgents)
    report(`at most ${LIMITS.subAgents} agents besides the manager, not ${agents.length - managers}`);
  for (const [index, { slug }] of agents.entries())
    if (agents.findIndex((agent) => agent.slug === slug) < index) report(`${slug} is used twice`, [index, 'slug']);
});

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`AGENTS_FILE is not valid: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * New workspaces begin with these agents. The manager is first.
 *
 * @param file the operator's. Default: the agents shipped with the service
 * @throws ConfigError that lists each problem with its place, such as `1.skills.0`
 */
export function loadAgentTemplates(file?: string): AgentTemplate[] {
  const content = file === undefined ? JSON.parse(readFileSync(BUILT_IN, 'utf8')) : readJson(file);
  const { data, error } = safeParseRequest(AgentTemplates, content);
  if (data === undefined) {
    const lines = error.issues.map(({ path, message }) => ['AGENTS_FILE', path.join('.'), message].filter(Boolean));
    throw new ConfigError(lines.map((line) => line.join(': ')).join('\n'));
  }
  return data.toSorted((one, other) => Number(other.kind === 'manager') - Number(one.kind === 'manager'));
}
