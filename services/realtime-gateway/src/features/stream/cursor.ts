import { ApiError, LIMITS } from '@uswarm/contract';
import type { Since } from '../hub/since.js';

/** Positions by workspace id. */
export type Positions = ReadonlyMap<string, Since>;

/** The longest one has a different epoch for each workspace. It is a header of each reconnect, so it must not be much longer. */
const MAX_LENGTH = 4_096;
const CURSOR = /^v1(?:~[a-z0-9]{0,32}(?:\.[\w-]{22}(?:0|[1-9]\d{0,14}))+)*$/;
const ID_CHARACTERS = 22;

/** A UUID takes 36 characters, and its bytes 22. */
const packed = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');

function unpacked(text: string): string {
  const hex = Buffer.from(text, 'base64url').toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * A frame's `id`: where a stream of these workspaces continues. It consists of characters that need no encoding in a
 * URL.
 */
export function encodeCursor(positions: Positions): string {
  const byEpoch = Map.groupBy(positions, ([, { epoch = '' }]) => epoch);
  const groups = [...byEpoch].map(([epoch, entries]) => {
    const places = entries.map(([id, { seq }]) => `.${packed(id)}${seq}`);
    return `~${epoch}${places.join('')}`;
  });
  return `v1${groups.join('')}`;
}

/** @throws ApiError `cursor_invalid` for a text that `encodeCursor` does not return */
export function decodeCursor(cursor: string): Positions {
  const positions = new Map<string, Since>();
  if (cursor.length <= MAX_LENGTH && CURSOR.test(cursor)) {
    for (const group of cursor.split('~').slice(1)) {
      const [epoch, ...places] = group.split('.');
      for (const place of places) {
        const seq = Number(place.slice(ID_CHARACTERS));
        positions.set(unpacked(place.slice(0, ID_CHARACTERS)), { seq, ...(epoch && { epoch }) });
      }
    }
    if (positions.size <= LIMITS.subscriptionsPerSocket && encodeCursor(positions) === cursor) return positions;
  }
  throw new ApiError('cursor_invalid', { message: 'Last-Event-ID is not the id of an event of a stream.' });
}
