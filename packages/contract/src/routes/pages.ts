import { z } from 'zod';
import { LIMITS } from '../limits.js';

/** The query of every list of messages. spec: orchestrator §4.4 */
export const pageQuery = z.object({
  scrollId: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageMaximum).default(LIMITS.pageDefault),
  direction: z.enum(['forward', 'backward']).default('backward'),
});
export type PageQuery = z.output<typeof pageQuery>;

/** The query of a list that is paged on request. */
export const optionalPageQuery = z.object({
  scrollId: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageMaximum).optional(),
});
