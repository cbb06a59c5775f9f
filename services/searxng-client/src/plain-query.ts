import { CONTROLS, INVISIBLE_IN_QUERIES } from '@uswarm/service-kit';

/**
 * Removes the meaning that SearXNG's query language gives to a word:
 * - `!images`, `!!g`, `!!` (engines, redirects to other sites, "first result") lose the prefix. A single `!` is not
 *   a command and stays.
 * - `:de`, `:deutsch` (language) lose the colon. `::before` and `:)` are not commands and stay.
 * - `<3`, `<850` (time limit) become `< 3`, which keeps the meaning of "price <3".
 */
function plainWord(word: string): string {
  if (word === '!') return word;
  const unbanged = word.replace(/^!+/u, '');
  const neutral = /^:\p{L}/u.test(unbanged) ? unbanged.slice(1) : unbanged;
  return neutral.replace(/^<(?=\p{N}+$)/u, '< ');
}

/**
 * The query without SearXNG commands. Words that do not begin with `!`, `:` or `<` are unchanged; white space becomes
 * single spaces. Empty if the query contains only commands.
 *
 * The grammar is `RawTextQuery` in SearXNG's `searx/query.py`: words are split at white space, and their first characters
 * decide.
 */
export function plainQuery(query: string): string {
  return (
    query
      .toWellFormed()
      // SearXNG's parser splits words at some C0 and C1 controls, as Python's `\s` does.
      .replaceAll(CONTROLS, ' ')
      .replaceAll(INVISIBLE_IN_QUERIES, '')
      .split(/\s+/u)
      .map(plainWord)
      .filter((word) => word !== '')
      .join(' ')
  );
}
