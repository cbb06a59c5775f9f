import type { AgentSummary, NewMessage } from '@uswarm/client';

type Mentions = NonNullable<NewMessage['mentions']>;

/** @returns the agents that a text addresses as `@slug` or `@Name` */
export function mentionsIn(text: string, agents: readonly Pick<AgentSummary, 'id' | 'name' | 'slug'>[]): Mentions {
  return [...text.matchAll(/(?<![\p{L}\p{N}@])@([\p{L}\p{N}_-]+)/gu)].flatMap((match) => {
    const word = (match[1] ?? '').toLowerCase();
    const agent = agents.find(({ name, slug }) => [name.toLowerCase(), slug].includes(word));
    if (agent === undefined) return [];
    return [{ agent_id: agent.id, agent_name: agent.name, offset: match.index, length: match[0].length }];
  });
}

/** Position of an unfinished mention, from its `@` to the caret. */
export interface MentionRange {
  start: number;
  end: number;
}
/** True if the user just typed an `@` that begins a word. @param caret the position behind it */
export function beginsMention(text: string, caret: number, event: Event): boolean {
  const isTyped = event instanceof InputEvent && event.data === '@';
  return isTyped && text[caret - 1] === '@' && !/[\p{L}\p{N}]$/u.test(text.slice(0, caret - 1));
}
/** @returns the name so far, in lower case; undefined if it cannot be a name */
export function queryOf(text: string, { start, end }: MentionRange): string | undefined {
  return /^@([\p{L}\p{N}_-]*)$/u.exec(text.slice(start, end))?.[1]?.toLowerCase();
}
