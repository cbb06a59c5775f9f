import { z } from 'zod';
import { LIMITS } from '../limits.js';

/** The query of lists of messages. */
export const pageQuery = z.object({
  scrollId: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageMaximum).default(LIMITS.pageDefault),
  direction: z.enum(['forward', 'backward']).default('backward'),
});
export type PageQuery = z.output<typeof pageQuery>;

/** The query of a list with optional paging. */
export const optionalPageQuery = z.object({
  scrollId: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageMaximum).optional(),
});

const ANCHORS = ['scrollId', 'around', 'after', 'before'] as const;
const anchor = (description: string) => z.uuid().optional().meta({ description, 'x-extension': true });

/** The query of the messages of a conversation. Pages can also start at a message. */
export const messageListQuery = pageQuery
  .extend({
    around: anchor('Returns the page around this message. Mutually exclusive with `scrollId`, `after` and `before`.'),
    after: anchor('Returns the messages after this one. Mutually exclusive with `scrollId`, `around` and `before`.'),
    before: anchor('Returns the messages before this one. Mutually exclusive with `scrollId`, `around` and `after`.'),
  })
  .refine((query) => ANCHORS.filter((name) => query[name] !== undefined).length <= 1, {
    path: ['scrollId'],
    message: 'scrollId, around, after and before are mutually exclusive',
  });
export type MessageListQuery = z.output<typeof messageListQuery>;
