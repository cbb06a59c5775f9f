import { z } from 'zod';

export const searchResultSchema = z.object({
  title: z.string(),
  url: z.string(),
  snippet: z.string(),
  engine: z.string().describe('the search engine that found it'),
});

/**
 * Search outcome. `empty`: all engines responded and found nothing. `upstream_failed`: no rows, and at least one engine
 * did not respond, so the search is inconclusive. `partial`: rows, but at least one engine did not respond.
 */
export const searchOutcomeSchema = z.object({
  status: z.enum(['ok', 'partial', 'empty', 'upstream_failed']),
  results: z.array(searchResultSchema),
  unresponsive_engines: z.array(z.object({ engine: z.string(), reason: z.string() })),
  notes: z.array(z.string()).describe('remarks about this outcome'),
});

export type SearchResult = z.infer<typeof searchResultSchema>;
export type SearchOutcome = z.infer<typeof searchOutcomeSchema>;
export type UnresponsiveEngine = SearchOutcome['unresponsive_engines'][number];
