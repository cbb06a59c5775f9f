import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';

/** Reads answers from other systems: OAuth providers, Google, identity providers. */

/** A field that counts as absent if it is null or has another type. */
export const oddAsAbsent = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** Readable list entries. `odd` counts the others. */
export interface Entries<Entry> {
  entries: Entry[];
  odd: number;
}

/** Reads each list entry separately, so that an odd one does not hide the others. Anything else is an empty list. */
export const entriesOf = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .unknown()
    .optional()
    .transform((value): Entries<z.output<Schema>> => {
      const all: unknown[] = Array.isArray(value) ? value : [];
      const entries = all.flatMap((entry) => {
        const { success, data } = schema.safeParse(entry);
        return success ? [data] : [];
      });
      return { entries, odd: all.length - entries.length };
    });

/** As `entriesOf`, without counting odd entries. */
export const readableOf = <Schema extends z.ZodType>(schema: Schema) =>
  entriesOf(schema).transform(({ entries }) => entries);

const PROXY_AUTHENTICATION = 407;
const NETWORK_AUTHENTICATION = 511;

/**
 * Returns true if a captive portal or a company proxy answered instead of a JSON API: with a redirect, a sign-in
 * request, or a page. Such an answer does not belong to the request.
 */
export const isFromProxy = (status: number, body: string): boolean =>
  (status >= 300 && status < 400) ||
  status === PROXY_AUTHENTICATION ||
  status === NETWORK_AUTHENTICATION ||
  body.trimStart().startsWith('<');

/** Some servers begin JSON with a byte order mark. @returns undefined if the body is not JSON */
export const readJson = (body: string): unknown => parseJson(body.replace(/^\uFEFF/, ''));
