import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Whether a request shows the token; takes the same time for every wrong one. */
export function bearerCheck(token: string): (headers: IncomingHttpHeaders) => boolean {
  const expected = digest(token);
  return ({ authorization = '' }) => {
    const shown = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
    return shown !== undefined && timingSafeEqual(digest(shown), expected);
  };
}

/** Equal lengths, as the comparison needs. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
