import type { ByteRange } from '../../records/object-store.js';

/**
 * The part of a file that a `Range` header requests (RFC 9110 §14): one part; `whole` without a header or with one that
 * may be ignored (another unit, several parts, malformed); or a part that does not exist. `req.range()` of express rejects
 * suffixes longer than the file and ranges that end before they begin.
 */
export function requestedRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
  // Both can be larger than a number of JavaScript.
  if (last !== '' && BigInt(last) < BigInt(first)) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}
