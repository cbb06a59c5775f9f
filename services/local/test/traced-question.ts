import { type ModelServer, type ModelStep, startModelServer, textOf, words } from '@uswarm/dev-servers';
import { delegate, isTask } from './delegating-agents.js';

export const QUESTION = 'How will the weather be?';
const ANSWER = 'Sunny, as the researcher found.';
const QUERY = 'weather of tomorrow';
const FACTS = 'It will be sunny.';

/** Nothing of these may be part of a span. */
export const CONTENTS = [QUESTION, ANSWER, QUERY, FACTS, 'Find facts'];

/** The manager searches, delegates to the researcher, whose answer is held as `task`, and answers. */
export function startTracedModel(): Promise<ModelServer> {
  return startModelServer({
    script({ messages }): ModelStep[] {
      const prompt = messages.findLast(({ role }) => role === 'user');
      if (prompt !== undefined && isTask(textOf(prompt.content))) return [{ hold: 'task' }, ...words(FACTS)];
      const results = messages.filter(({ role }) => role === 'tool').length;
      if (results === 0) return [{ toolCalls: [{ name: 'web_search_tool', arguments: { query: QUERY } }] }];
      if (results === 1) return delegate('researcher');
      return words(ANSWER);
    },
  });
}
