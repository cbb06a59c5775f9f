import { z } from 'zod';
import { LIMITS } from '../limits.js';

const scrollId = z.string().max(512).optional().meta({
  description: 'The `next_scroll_id` or `prev_scroll_id` of a page of the same list; without it, the first page.',
});
const limit = z.coerce.number().int().min(1).max(LIMITS.pageMaximum);
const SIZE = `Maximum number of items, 1 to ${LIMITS.pageMaximum}. Pages with large items have fewer.`;

/** Query for message lists. */
export const pageQuery = z.object({
  scrollId,
  limit: limit.default(LIMITS.pageDefault).meta({ description: SIZE }),
  direction: z.enum(['forward', 'backward']).default('backward').meta({
    description: '`backward`: newest first. `forward`: oldest first.',
  }),
});
export type PageQuery = z.output<typeof pageQuery>;

/** Query for a list with optional paging. */
export const optionalPageQuery = z.object({
  scrollId,
  limit: limit.optional().meta({ description: `${SIZE} Without it, all that fit into one response.` }),
});

const ANCHORS = ['scrollId', 'around', 'after', 'before'] as const;
const anchor = (description: string) => z.uuid().optional().meta({ description, 'x-extension': true });

/** Query for a conversation's messages. Pages can also start at a message. */
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
