import { fileURLToPath } from 'node:url';
import { AgentRole, AgentSkill, CreateAgentBody, LIMITS } from '@uswarm/contract';
import { AGENT_TOOLS } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { readOperatorFile } from './operator-file.js';

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

/**
 * New workspaces begin with these agents. The manager is first.
 *
 * @param file the operator's. Default: the agents shipped with the service
 * @throws ConfigError that lists each problem with its place, such as `1.skills.0`
 */
export function loadAgentTemplates(file?: string): AgentTemplate[] {
  const agents = readOperatorFile('AGENTS_FILE', file ?? fileURLToPath(BUILT_IN), AgentTemplates);
  return agents.toSorted((one, other) => Number(other.kind === 'manager') - Number(one.kind === 'manager'));
}
