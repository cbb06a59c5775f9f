import { type Agent, AgentRole, type RunTurnRequest } from '@uswarm/runtime-proto';
import { UNTRUSTED_RULE } from '../tools/untrusted-block.js';
import { describeContext } from './describe-context.js';

const LENGTHS: Readonly<Record<string, string>> = {
  short: 'Answer in one to three sentences.',
  medium: 'Answer in one to three paragraphs.',
  long: 'Answer in depth, with structure where it helps.',
};

function colleague({ slug, name, role, description, skills }: Agent): string {
  const manager = role === AgentRole.MANAGER ? ', manager' : '';
  const can = skills.length === 0 ? '' : ` Skills: ${skills.join(', ')}.`;
  return `- ${name} (@${slug}${manager}): ${description}${can}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}\n${lines.join('\n')}`];
}

/**
 * The system prompt of a turn. Equal inputs give equal text.
 * @param toolProblem a sentence that explains why tools are missing
 */
export function systemPrompt(request: RunTurnRequest, agent: Agent, toolProblem?: string): string {
  const role = agent.role === AgentRole.MANAGER ? 'the manager of' : 'a member of';
  const length = LENGTHS[agent.responseLength];
  return [
    `You are ${agent.name} (@${agent.slug}), ${role} a swarm of AI agents that works for one user. ${agent.description}`.trim(),
    ...section(
      'Your skills:',
      agent.skills.map((skill) => `- ${skill}`),
    ),
    ...section('Your colleagues, whom the user can address by @name:', request.colleagues.map(colleague)),
    ...section(
      'What you remember about the user and the work:',
      request.memories.map(({ category, key, content }) => `- [${category}] ${key}: ${content}`),
    ),
    ...agent.prompts,
    ...(length === undefined ? [] : [length]),
    UNTRUSTED_RULE,
    ...(toolProblem === undefined ? [] : [`Your tools cannot be used right now. ${toolProblem}`]),
    // Last, because it changes with each turn: providers can cache the text before it.
    ...section('Now:', describeContext(request.context)),
  ].join('\n\n');
}
