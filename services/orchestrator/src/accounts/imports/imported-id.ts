import { createHash } from 'node:crypto';

const DIGITS = 16;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * An imported row's id; another text stays. The same import gives the same id again, so that it can continue after a crash. The first half is
 * the old id's: it has the time, by which rows are ordered.
 */
export function importedId(importId: string, id: string): string {
  if (!UUID.test(id)) return id;
  const hash = createHash('sha256').update(`${importId} ${id.toLowerCase()}`).digest('hex');
  const old = id.toLowerCase().replaceAll('-', '').slice(0, DIGITS);
  // The variant of RFC 9562.
  const digits = `${old}a${hash.slice(0, DIGITS - 1)}`;
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  );
}
