import { z } from 'zod';

/** Parts of routes that return a file for a signed link, whole or in ranges. */

export const linkSignature = z.object({ sig: z.string().max(512) });

export const rangeHeaders = z.object({
  range: z.string().optional().meta({ description: 'A single byte range; any other value returns the whole file.' }),
  'if-range': z.string().optional().meta({ description: 'The ETag that the range belongs to.' }),
});

const binary = z.string().meta({ format: 'binary' });

/** @param description of the whole file */
export const fileResponses = (description: string) => ({
  200: { description, schema: binary },
  206: { description: 'The requested range of the file.', schema: binary },
});
