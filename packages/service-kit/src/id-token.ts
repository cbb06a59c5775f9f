import { createHash } from 'node:crypto';

/** Whether the text is canonical base64url, without white space and padding. */
function isCanonical(part: string): boolean {
  return part !== '' && Buffer.from(part, 'base64url').toString('base64url') === part;
}

/**
 * True if a signed JWT has exactly three parts in canonical base64url. Decoders ignore white space, padding and unused
 * bits, so a token has several valid encodings; only the canonical one is accepted.
 */
export function isCanonicalToken(token: string): boolean {
  const parts = token.split('.');
  return parts.length === 3 && parts.every(isCanonical);
}

/**
 * Token identity: SHA-256 of `header.payload`, the signed text. The signature itself does not identify a token: ECDSA
 * has a second valid signature for each one. An API token has no signature, so the whole text identifies it.
 */
export function tokenHash(token: string): Buffer {
  return createHash('sha256')
    .update(token.includes('.') ? token.slice(0, token.lastIndexOf('.')) : token)
    .digest();
}
