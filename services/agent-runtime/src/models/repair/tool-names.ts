// Models and servers decorate tool names. This file finds the offered name.

/** Special tokens and what follows them, an empty list of arguments, quotes and space. */
const TAIL = /(?:(?<=[\p{L}\p{N}])<[\s\S]*|<[|｜][\s\S]*|[()\s"'`*])+$/u;
const HEAD = /^(?:<[|｜][^>]*>|[\s"'`*])+/u;

/** Words that say nothing beside a name. */
const LABELS = new Set(
  'tool tools function functions func fn call api default mcp run invoke use json commentary'.split(' '),
);

/** A server can have any name before one of these. */
const NAMESPACE = /(?:::|__|[./:#])$/;

interface Word {
  text: string;
  start: number;
  end: number;
}

/** A name's words in lower case, with their places. */
const wordsIn = (name: string): Word[] =>
  [...name.matchAll(/\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll})|\p{N}+|(?:(?![\p{Lu}\p{Ll}])\p{L})+/gu)].map(
    ({ 0: text, index }) => ({
      text: text.toLowerCase(),
      start: index,
      end: index + text.length,
    }),
  );

const textsOf = (words: readonly Word[]): string[] => words.map(({ text }) => text);

const isLabel = (word: string): boolean => LABELS.has(word);

/** The name without separators, case and words that say nothing at its ends. */
function coreOf(name: string): string {
  const words = textsOf(wordsIn(name));
  const first = words.findIndex((word) => !isLabel(word));
  const last = words.findLastIndex((word) => !isLabel(word));
  return words.slice(Math.max(0, first), last < 0 ? words.length : last + 1).join('');
}

const only = (names: readonly string[]): string | undefined => (names.length === 1 ? names[0] : undefined);

interface Contained {
  name: string;
  /** The first word's index; `to` is one past the last word. */
  from: number;
  to: number;
}

/** Where an offered name's words are within these; undefined if they are not. */
function containedIn(words: readonly string[], name: string): Contained | undefined {
  const own = textsOf(wordsIn(name));
  const last = words.length - own.length;
  for (let from = last; own.length > 0 && from >= 0; from -= 1) {
    if (own.every((word, index) => words[from + index] === word)) return { name, from, to: from + own.length };
  }
  return undefined;
}

/**
 * The offered name that a decorated name contains, such as one with a namespace, an index or a special token; undefined unless
 * it is exactly one.
 */
export function toolNameOf(name: string, offered: ReadonlySet<string>): string | undefined {
  if (offered.has(name)) return name;
  const bare = name.replace(HEAD, '').replace(TAIL, '');
  if (offered.has(bare)) return bare;
  const names = [...offered];
  // Some servers repeat the name.
  const half = bare.slice(0, bare.length / 2);
  if (half + half === bare && offered.has(half)) return half;
  const same = names.filter((one) => textsOf(wordsIn(one)).join('') === textsOf(wordsIn(bare)).join(''));
  if (same.length > 0) return only(same);
  const words = wordsIn(bare);
  const found = names.map((one) => containedIn(textsOf(words), one)).filter((one) => one !== undefined);
  const maximal = found.filter(
    (one) => !found.some((other) => other !== one && other.from <= one.from && other.to >= one.to),
  );
  if (maximal.length > 1) return undefined;
  const decorated = maximal.find(({ from, to }) => {
    const [before, after] = [words.slice(0, from), words.slice(to)].map(textsOf);
    const start = bare.slice(0, words[from]?.start);
    const isPrefix = NAMESPACE.test(start) || before?.[0] === 'mcp' || before?.every(isLabel);
    return isPrefix === true && after?.every((word) => isLabel(word) || /^\d+$/.test(word));
  });
  return decorated?.name ?? only(names.filter((one) => coreOf(one) !== '' && coreOf(one) === coreOf(bare)));
}
