import { randomUUIDv7 } from 'node:crypto';

const TIMESTAMP_LENGTH = 13;

let last = '';

/** Returns increasing ids, which order one message's turns. UUIDs from the same millisecond are unordered. */
export function nextTurnId(): string {
  let id = randomUUIDv7();
  while (id.slice(0, TIMESTAMP_LENGTH) === last.slice(0, TIMESTAMP_LENGTH) && id <= last) id = randomUUIDv7();
  last = id;
  return id;
}
