import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** True if a request has an accepted token; compares in constant time. */
export function bearerCheck(tokens: readonly string[]): (headers: IncomingHttpHeaders) => boolean {
  const expected = tokens.map(digest);
  return ({ authorization = '' }) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (token === undefined) return false;
    const actual = digest(token);
    return expected.map((each) => timingSafeEqual(actual, each)).includes(true);
  };
}

/** Hashes to equal lengths for the constant-time comparison. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
