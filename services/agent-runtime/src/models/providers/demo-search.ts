import { LABEL } from './demo-scene.js';
import type { ReadResult } from './demo-situation.js';

const MAX_QUERY = 400;

export const DEMO_NOTICE =
  'This is the demo model: it only repeats the question and uses the search tool for real. ' +
  'For real answers set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and start again.';

export const asksForSearch = (text: string): boolean => /search|look up|find|sources|web/i.test(text);

/** The topic in a request such as "Search the web for … and answer with sources". */
export function topicOf(text: string): string {
  const bare = text
    .trim()
    .replace(/^(?:@[\w-]+[\s,:]+)+/, '')
    .replace(
      /^(?:please\s+)?(?:(?:search|look)(?:\s+(?:on\s+)?(?:the\s+)?(?:web|internet|online))?(?:\s+(?:for|up))?|find(?:\s+sources)?(?:\s+(?:for|on|about))?)\b[\s:]*/i,
      '',
    )
    .replace(/[\s,;]*\b(?:and|then)\s+(?:answer|reply|respond)\b.*\bsources?\b.*$/is, '')
    .trim();
  return (bare || text.trim()).slice(0, MAX_QUERY);
}

interface Source {
  title: string;
  url: string;
}

function isSource(value: unknown): value is Source {
  if (typeof value !== 'object' || value === null) return false;
  return 'title' in value && typeof value.title === 'string' && 'url' in value && typeof value.url === 'string';
}

interface SearchOutcome {
  failed: boolean;
  sources: Source[];
  /** The tool's remarks. */
  notes: string[];
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const listOf = <T>(value: unknown, isEntry: (entry: unknown) => entry is T): T[] =>
  Array.isArray(value) ? value.filter(isEntry) : [];

const isText = (value: unknown): value is string => typeof value === 'string';

/** Parses a search result. Other text has no sources. */
export function readSearchOutcome(text: string): SearchOutcome {
  const { status, results, notes } = parseObject(text);
  return { failed: status === 'upstream_failed', sources: listOf(results, isSource), notes: listOf(notes, isText) };
}

/** The answer to a search result. */
export function searchAnswer({ text, failed }: ReadResult): string {
  if (failed) return `${LABEL} The search failed: ${text}`;
  const outcome = readSearchOutcome(text);
  const notes = outcome.notes.join(' ');
  if (outcome.failed) return `${LABEL} The search failed: ${notes || text}`;
  if (outcome.sources.length === 0) return `${LABEL} The search found nothing. Notes: ${notes || text}`;
  const list = outcome.sources.map(({ title, url }, index) => `${index + 1}. ${title} - ${url}`).join('\n');
  return [`${LABEL} The search found these sources:`, list, ...(notes === '' ? [] : [notes]), DEMO_NOTICE].join('\n\n');
}
