/** C0 and C1 controls separate words for SearXNG's parser (Python's `\s` includes some of them). */
const CONTROLS = /\p{Cc}/gu;

/** Marks that are not seen. The two joiners stay: Persian, Hindi and emoji are spelt with them. */
const INVISIBLE = /(?![\u200c\u200d])[\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Turns one word into text that SearXNG's query language leaves alone:
 * - `!images`, `!!g`, `!!` (engines, redirects to other sites, "first result") lose their marks,
 *   and vanish when they are nothing else; a lone `!` is no command and stays;
 * - `:de`, `:deutsch` (language) lose the colon; `::before` and `:)` are no commands and stay;
 * - `<3`, `<850` (time limit) become `< 3`, which keeps their meaning in "price <3".
 */
function plainWord(word: string): string {
  if (word === '!') return word;
  const unbanged = word.replace(/^!+/u, '');
  const neutral = /^:\p{L}/u.test(unbanged) ? unbanged.slice(1) : unbanged;
  return neutral.replace(/^<(?=\p{N}+$)/u, '< ');
}

/**
 * The query as plain text: what a person or a model wrote is never a command to SearXNG. Words that
 * do not begin with `!`, `:` or `<` are kept as they are; white space becomes single spaces.
 * May be empty, when the query held nothing but commands.
 *
 * The grammar is that of `RawTextQuery` in SearXNG's `searx/query.py`: words split at white space,
 * each judged by its first characters.
 */
export function plainQuery(query: string): string {
  return query
    .toWellFormed()
    .replace(CONTROLS, ' ')
    .replace(INVISIBLE, '')
    .split(/\s+/u)
    .map(plainWord)
    .filter((word) => word !== '')
    .join(' ');
}
