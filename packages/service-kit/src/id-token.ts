import { createHash } from 'node:crypto';

/** Whether the text is base64url without blanks and padding, in the only spelling that encodes its bytes. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

/**
 * Whether a signed JWT has exactly three parts in canonical base64url. Decoders ignore blanks, padding and unused bits,
 * so other spellings of one token exist; they are not accepted.
 */
export function isCanonicalToken(token: string): boolean {
  const parts = token.split('.');
  return parts.length === 3 && parts.every(isCanonical);
}

/**
 * The identity of a token: SHA-256 of `header.payload`, the text that its signature covers. The signature itself does
 * not identify a token: ECDSA has a second valid signature for each one.
 */
export function tokenHash(token: string): Buffer {
  return createHash('sha256')
    .update(token.slice(0, token.lastIndexOf('.')))
    .digest();
}

/**
 * SHA-256 of the whole text, by which release 0.2 remembers a token.
 * To be removed, with everything that uses it, in the release after the next: no 0.2 replica runs beside that one.
 */
export function tokenTextHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
