import type { ByteRange } from '../../records/object-store.js';

/**
 * Parses a `Range` header (RFC 9110 §14). Returns one range; `whole` without a header or with a header that may be
 * ignored (another unit, several ranges, malformed); `unsatisfiable` if the range does not exist. Express's
 * `req.range()` rejects suffixes longer than the file and ranges that end before they begin.
 */
export function requestedRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)];
  // Either value can exceed JavaScript's safe integers.
  if (last !== '' && BigInt(last) < BigInt(first)) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end };
}
