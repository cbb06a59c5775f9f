import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Whether a request shows one of the tokens; takes the same time for every wrong one. */
export function bearerCheck(tokens: readonly string[]): (headers: IncomingHttpHeaders) => boolean {
  const expected = tokens.map(digest);
  return ({ authorization = '' }) => {
    const shown = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    if (shown === undefined) return false;
    const actual = digest(shown);
    return expected.map((each) => timingSafeEqual(actual, each)).includes(true);
  };
}

/** Equal lengths, as the comparison needs. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
