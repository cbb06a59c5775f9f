import type { AgentSummary, NewMessage } from '@uswarm/client';

type Mentions = NonNullable<NewMessage['mentions']>;

/** The agents that a text addresses as `@slug` or `@Name`. */
export function mentionsIn(text: string, agents: readonly Pick<AgentSummary, 'id' | 'name' | 'slug'>[]): Mentions {
  return [...text.matchAll(/(?<![\p{L}\p{N}@])@([\p{L}\p{N}_-]+)/gu)].flatMap((match) => {
    const word = (match[1] ?? '').toLowerCase();
    const agent = agents.find(({ name, slug }) => [name.toLowerCase(), slug].includes(word));
    if (agent === undefined) return [];
    return [{ agent_id: agent.id, agent_name: agent.name, offset: match.index, length: match[0].length }];
  });
}
