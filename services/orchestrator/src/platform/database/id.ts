import { createHash } from 'node:crypto';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** True if `text` is a UUID in lower case, the form of all ids. Other texts would make a query fail. */
export function isId(text: string): boolean {
  return UUID.test(text);
}

/** The same id for the same text. A UUID of version 8 (RFC 9562): the other bits are free. */
export function hashedId(text: string): string {
  const hash = createHash('sha256').update(text).digest('hex');
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join('-');
}
