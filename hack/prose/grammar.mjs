import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { extractComments } from './extract.mjs';

// Limits for chained nouns and clauses in comments and docs. Older files may have more: the baseline lists how many, and only shrinks.

const BASELINE = join(import.meta.dirname, 'grammar-baseline.json');
const COUNTED = /\.(?:tsx?|js|mjs|md)$/;
/** Shorter paragraphs are names, tags and headings. */
const LEAST_WORDS = 4;

/** `rate` is the limit per 10,000 words, `free` the limit of short files. */
const PATTERNS = {
  of: {
    pattern: /\bof (?:the|a|an) \w+/g,
    rate: 100,
    free: 1,
    advice: 'write “turn tokens” or “the gateway’s socket” instead of “of the”',
  },
  plurals: {
    pattern: /\b(?!consists )\w*[^\Ws]s of (?!(?:its|this) )(?:\w+ )?(?!(?:as|has|is|its|this|us|was)\b)\w*[^\Ws]s\b/g,
    rate: 8,
    free: 0,
    advice: 'write “agent names” instead of “names of agents”',
  },
  clauses: {
    // A comma ends a subordinate clause, so the sentence has a subject.
    pattern: /(?<=^|[.!?] )(?:What|Whether|All that|How often|How many|Which|Whom|Who|When)\b(?![^.]*[?,] ?)/g,
    rate: 12,
    free: 0,
    advice: 'begin with the subject, such as “Deadline in ms”, instead of a clause',
  },
  those: {
    pattern: /\b(?:the ones? (?:that|which)|those that|all that|that of|those of)\b/g,
    rate: 1.5,
    free: 0,
    advice: 'repeat the noun instead of “those that” or “that of”',
  },
};
/** @typedef {{ [pattern in keyof typeof PATTERNS]?: number }} Counts */

/** @returns {{ words: number, lines: Record<keyof typeof PATTERNS, number[]> }} the matching lines by pattern */
export function countGrammar(path, text) {
  const lines = Object.fromEntries(Object.keys(PATTERNS).map((name) => [name, []]));
  let words = 0;
  for (const { text: paragraph, lineAt } of paragraphs(extractComments(path, withoutFences(path, text)))) {
    words += paragraph.split(' ').length;
    for (const [name, { pattern }] of Object.entries(PATTERNS))
      for (const { index } of paragraph.matchAll(pattern)) lines[name].push(lineAt(index));
  }
  return { words, lines };
}

const withoutFences = (path, text) =>
  path.endsWith('.md') ? text.replace(/^( *```).*\n[^]*?^\1/gm, (fence) => fence.replace(/[^\n]/g, '')) : text;

/** Consecutive lines with text, joined by a space. */
function* paragraphs(prose) {
  let parts = [];
  for (const [index, line] of [...prose.split('\n'), ''].entries()) {
    const text = line.trim().replace(/\s+/g, ' ');
    if (text !== '') {
      parts.push({ text, line: index + 1 });
      continue;
    }
    const joined = parts.map((part) => part.text).join(' ');
    if (joined.split(' ').length >= LEAST_WORDS) yield { text: joined, lineAt: lineFinder(parts) };
    parts = [];
  }
}

function lineFinder(parts) {
  return (offset) => {
    let end = 0;
    return parts.find(({ text }) => offset < (end += text.length + 1)).line;
  };
}

/** @returns {Record<string, Counts>} older files' counts by path */
export function readBaseline() {
  return JSON.parse(readFileSync(BASELINE, 'utf8'));
}

/**
 * Compares files with their limits. `baseline` in the result has lower or equal counts, and no entry for a file without excess.
 *
 * @returns {{ findings: import('./lint.mjs').Finding[], baseline: Record<string, Counts> }}
 */
export function checkGrammar({ root, files, baseline }) {
  const findings = [];
  const shrunk = {};
  for (const path of files.filter((file) => COUNTED.test(file))) {
    const { words, lines } = countGrammar(path, readFileSync(join(root, path), 'utf8'));
    for (const [name, { rate, free, advice }] of Object.entries(PATTERNS)) {
      const usual = Math.max(free, Math.floor((words * rate) / 10_000));
      const allowed = Math.max(usual, baseline[path]?.[name] ?? 0);
      const { length: count, 0: line } = lines[name];
      if (count > allowed) {
        const message = `${count} instead of at most ${allowed} (lines ${lines[name].join(', ')}): ${advice}.`;
        findings.push({ path, line, rule: `Grammar.${name}`, match: '', message });
      }
      if (Math.min(count, allowed) > usual) (shrunk[path] ??= {})[name] = Math.min(count, allowed);
    }
  }
  return { findings, baseline: shrunk };
}

/** One line per file merges well. */
export function writeBaseline(baseline) {
  const entries = Object.keys(baseline)
    .toSorted()
    .map((path) => `  ${JSON.stringify(path)}: ${JSON.stringify(baseline[path])}`);
  writeFileSync(BASELINE, `{\n${entries.join(',\n')}\n}\n`);
}
