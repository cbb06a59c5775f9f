import { z } from 'zod';

export const searchResultSchema = z.object({
  title: z.string(),
  url: z.string(),
  snippet: z.string(),
  engine: z.string().describe('the search engine that found it'),
});

/**
 * What a search came to. `empty`: every engine answered and none found anything. `upstream_failed`:
 * no rows, and some engine did not answer, so nothing can be concluded. `partial`: rows, but some
 * engine did not answer. spec: supporting §2.1, §7
 */
export const searchOutcomeSchema = z.object({
  status: z.enum(['ok', 'partial', 'empty', 'upstream_failed']),
  results: z.array(searchResultSchema),
  unresponsive_engines: z.array(z.object({ engine: z.string(), reason: z.string() })),
  notes: z.array(z.string()).describe('what the reader should know about this answer'),
});

export type SearchResult = z.infer<typeof searchResultSchema>;
export type SearchOutcome = z.infer<typeof searchOutcomeSchema>;
export type UnresponsiveEngine = SearchOutcome['unresponsive_engines'][number];
