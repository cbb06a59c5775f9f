import { z } from 'zod';
import { WebSearchError } from './errors.js';
import type { SearchOutcome, SearchResult, UnresponsiveEngine } from './outcome.js';
import { cleanText } from './untrusted-text.js';

const TITLE_LENGTH = 200;
const SNIPPET_LENGTH = 500;
const URL_LENGTH = 2_048;
const NAME_LENGTH = 60;
const REASON_LENGTH = 100;
const MAX_ENGINES = 50;

/** Rows that are not objects and fields of an unexpected type count as absent. */
const text = z.string().catch('');
const rowSchema = z.object({ title: text, url: text, content: text, engine: text });
const absentRow = { title: '', url: '', content: '', engine: '' };

/**
 * The two fields that the tool reads. `answers` (objects), `infoboxes`, `suggestions`, `corrections` and new fields may
 * have any shape (TOOL-002).
 */
const responseSchema = z.object({
  results: z.array(rowSchema.catch(absentRow)),
  unresponsive_engines: z.array(z.tuple([z.string(), z.string()]).rest(z.unknown()).nullable().catch(null)).catch([]),
});

/**
 * Converts the JSON of SearXNG to an outcome with at most `maxResults` rows.
 * @throws WebSearchError `malformed_response`
 */
export function readResponse(json: unknown, maxResults: number): SearchOutcome {
  const response = responseSchema.safeParse(json);
  if (!response.success) {
    throw new WebSearchError('malformed_response', 'searxng sent JSON without a list of results');
  }
  const rows = response.data.results;
  const usable = rows.map(toResult).filter((result) => result !== undefined);
  const unresponsive = readEngines(response.data.unresponsive_engines);
  return {
    status: statusOf(usable.length, unresponsive.length),
    results: mergeDuplicates(usable).slice(0, maxResults),
    unresponsive_engines: unresponsive,
    notes: notesFor(usable.length, rows.length - usable.length, unresponsive),
  };
}

function toResult(row: z.infer<typeof rowSchema>): SearchResult | undefined {
  const url = webAddress(row.url);
  if (url === undefined) return undefined;
  const title = cleanText(row.title, TITLE_LENGTH);
  return {
    title: title === '' ? url.host : title,
    url: url.href,
    snippet: cleanText(row.content, SNIPPET_LENGTH),
    engine: cleanText(row.engine, NAME_LENGTH),
  };
}

/** Rejects `javascript:`, `data:` and URLs whose user name imitates a host. */
function webAddress(address: string): URL | undefined {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  const disguised = url.username !== '' || url.password !== '';
  return disguised || url.href.length > URL_LENGTH ? undefined : url;
}

/** Merges URLs that differ only in scheme, fragment or trailing slash, at the position of the first. */
function mergeDuplicates(results: readonly SearchResult[]): SearchResult[] {
  const merged = new Map<string, SearchResult>();
  for (const result of results) {
    const url = new URL(result.url);
    const key = `${url.host}${url.pathname.replace(/\/$/, '')}${url.search}`;
    const first = merged.get(key);
    if (first === undefined) merged.set(key, result);
    else if (first.snippet === '') merged.set(key, { ...first, snippet: result.snippet });
  }
  return [...merged.values()];
}

function readEngines(pairs: readonly (readonly [string, string, ...unknown[]] | null)[]): UnresponsiveEngine[] {
  return pairs
    .filter((pair) => pair !== null)
    .slice(0, MAX_ENGINES)
    .map(([engine, reason]) => ({
      engine: cleanText(engine, NAME_LENGTH),
      reason: cleanText(reason, REASON_LENGTH),
    }));
}

function statusOf(rows: number, unresponsive: number): SearchOutcome['status'] {
  if (rows > 0) return unresponsive > 0 ? 'partial' : 'ok';
  return unresponsive > 0 ? 'upstream_failed' : 'empty';
}

function notesFor(rows: number, dropped: number, unresponsive: readonly UnresponsiveEngine[]): string[] {
  const notes: string[] = [];
  const names = unresponsive.map(({ engine, reason }) => `${engine} (${reason})`).join(', ');
  if (dropped > 0) notes.push(`${dropped} rows without a usable web address were dropped.`);
  if (names !== '' && rows > 0) notes.push(`Not every search engine answered: ${names}.`);
  if (names !== '' && rows === 0) {
    notes.push(`Inconclusive: search engines did not answer: ${names}. This does not mean that nothing exists.`);
  }
  return notes;
}
