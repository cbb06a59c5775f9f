import { z } from 'zod';
import { WebSearchError } from './errors.js';
import type { SearchOutcome, SearchResult, UnresponsiveEngine } from './outcome.js';
import { cleanHtml } from './untrusted-text.js';
import { failureNotes } from './failed-engines.js';

const TITLE_LENGTH = 200;
const SNIPPET_LENGTH = 500;
const URL_LENGTH = 2_048;
const NAME_LENGTH = 60;
const REASON_LENGTH = 100;
const MAX_ENGINES = 50;

/** Row text. A title such as `1984` may be a number. Other types count as absent. */
const text = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .transform((value) => value ?? '')
  .catch('');
/** Rows that are not objects count as rows without an address. */
const rowSchema = z.object({ title: text, url: text, content: text, engine: text, engines: z.array(text).catch([]) });
const absentRow = { title: '', url: '', content: '', engine: '', engines: [] };

/** `[engine, reason]`. Other servers send only the name, an object per engine, or one object that maps engines to reasons. */
const failedEngineSchema = z.union([
  z.tuple([z.string()], z.unknown()).transform(([engine, reason]) => ({ engine, reason })),
  z.string().transform((engine) => ({ engine, reason: undefined })),
  z
    .object({ engine: z.string().optional(), name: z.string().optional() })
    .catchall(z.unknown())
    .transform(({ engine, name, ...rest }) => ({
      engine: engine ?? name ?? '',
      reason: rest['reason'] ?? rest['error'] ?? rest['error_type'],
    })),
]);

/**
 * The two fields that the tool reads. `answers` (objects), `infoboxes`, `suggestions`, `corrections` and new fields may
 * have any shape (TOOL-002).
 */
const responseSchema = z.object({
  results: z
    .array(rowSchema.catch(absentRow))
    .nullable()
    .transform((rows) => rows ?? []),
  unresponsive_engines: z
    .union([
      z.array(failedEngineSchema.nullable().catch(null)),
      z
        .record(z.string(), z.unknown())
        .transform((reasons) => Object.entries(reasons).map(([engine, reason]) => ({ engine, reason }))),
    ])
    .catch([]),
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
  const title = cleanHtml(row.title, TITLE_LENGTH);
  return {
    title: title === '' ? url.host : title,
    url: url.href,
    snippet: cleanHtml(row.content, SNIPPET_LENGTH),
    engine: cleanHtml(row.engine || (row.engines[0] ?? ''), NAME_LENGTH),
  };
}

/** Rejects `javascript:`, `data:` and URLs whose user name imitates a host. */
function webAddress(address: string): URL | undefined {
  // `&amp;` in an address is the `&` on the page from which it was copied.
  const url = URL.parse(address.trim().replaceAll(/&(?:amp|#38|#x26);/gi, '&'));
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  const disguised = url.username !== '' || url.password !== '';
  return disguised || url.href.length > URL_LENGTH ? undefined : url;
}

/** Merges URLs that differ only in scheme, fragment or trailing slash, at the first one's position. */
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

function readEngines(entries: readonly (z.infer<typeof failedEngineSchema> | null)[]): UnresponsiveEngine[] {
  return entries
    .filter((entry) => entry !== null)
    .map(({ engine, reason }) => ({
      engine: cleanHtml(engine, NAME_LENGTH),
      reason: typeof reason === 'string' ? cleanHtml(reason, REASON_LENGTH) : '',
    }))
    .filter(({ engine }) => engine !== '')
    .slice(0, MAX_ENGINES);
}

function statusOf(rows: number, unresponsive: number): SearchOutcome['status'] {
  if (rows > 0) return unresponsive > 0 ? 'partial' : 'ok';
  return unresponsive > 0 ? 'upstream_failed' : 'empty';
}

function notesFor(rows: number, dropped: number, unresponsive: readonly UnresponsiveEngine[]): string[] {
  const notes = dropped > 0 ? [`${dropped} rows without a usable web address were dropped.`] : [];
  return [...notes, ...failureNotes(unresponsive, rows > 0)];
}
