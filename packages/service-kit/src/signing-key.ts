import { z } from 'zod';
import { parseSigningKey, type SigningKey, TokenError } from './tokens.js';

/** A setting `<id>:<secret>`; see `parseSigningKey`. */
export const signingKey = z.string().transform((text, context): SigningKey => {
  try {
    return parseSigningKey(text);
  } catch (error) {
    // A TokenError's message never contains the key.
    context.addIssue({ code: 'custom', message: error instanceof TokenError ? error.message : 'malformed' });
    return z.NEVER;
  }
});
