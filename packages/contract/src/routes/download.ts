import { z } from 'zod';

/** Shared parts for routes that return a file for a signed link, whole or in ranges. */

export const linkSignature = z.object({
  sig: z.string().max(512).meta({ description: 'The signature that the link contains; it expires with the link.' }),
});

/** The header of conditional requests. */
export const conditionalHeaders = z.object({
  'if-none-match': z.string().optional().meta({
    description:
      "The ETag of the client's copy, a list of ETags, or `*`. If one matches, the response is 304 without a body.",
  }),
});

export const notModified = { 304: { description: "The client's copy is up to date.", schema: null } } as const;

export const fileHeaders = conditionalHeaders.extend({
  range: z.string().optional().meta({ description: 'A single byte range; any other value returns the whole file.' }),
  'if-range': z.string().optional().meta({ description: 'The ETag that the range belongs to.' }),
});

const binary = z.string().meta({ format: 'binary' });

/** @param description of the whole file */
export const fileResponses = (description: string) => ({
  200: { description, schema: binary },
  206: { description: 'The requested range of the file.', schema: binary },
  ...notModified,
});

export const CACHING =
  'Anyone who has the link can download the file until the link expires, 15 to 30 minutes after it was made. The file never changes: ' +
  '`Cache-Control` allows the client to keep it for the rest of that time, and `If-None-Match` with its ETag returns 304. The link stays ' +
  'the same for up to 15 minutes.';
