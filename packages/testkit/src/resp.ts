/** The Redis serialization protocol, as far as replies must be told apart. */

const CR = 0x0d;
const ELEMENTS_PER_ENTRY: Record<string, number> = { '*': 1, '>': 1, '~': 1, '%': 2, '|': 2 };
const BULK = new Set(['$', '=', '!']);

/** The first reply's length; undefined if it is incomplete. */
export function frameLength(data: Buffer): number | undefined {
  const end = frameEnd(data, 0);
  return end === undefined ? undefined : end;
}

function frameEnd(data: Buffer, start: number): number | undefined {
  const line = data.indexOf(CR, start);
  if (line === -1 || line + 1 >= data.length) return undefined;
  const type = String.fromCharCode(data[start] ?? 0);
  let end = line + 2;
  const count = Number(data.toString('latin1', start + 1, line));
  if (BULK.has(type)) {
    if (count >= 0) end += count + 2;
    return end <= data.length ? end : undefined;
  }
  for (let left = count * (ELEMENTS_PER_ENTRY[type] ?? 0); left > 0; left -= 1) {
    const next = frameEnd(data, end);
    if (next === undefined) return undefined;
    end = next;
  }
  return end;
}

/** True for a sharded Pub/Sub message. */
export const isShardedMessage = (frame: Buffer): boolean => frame.subarray(0, 32).includes('\r\nsmessage\r\n');
