// Imported: a closed realm has no global.
import { Buffer } from 'node:buffer';

/**
 * A message between the reader and its process: a JSON header and bytes. The two do not use the IPC of Node.js, whose
 * decoder is not made for a sender that a hostile file may control.
 */
export interface Frame {
  header: unknown;
  bodies: Uint8Array[];
}

/** More would be an attack on the receiver's memory. */
const MAX_BODIES = 1_000;

const LENGTH_BYTES = 4;

export function encodeFrame(header: object, bodies: readonly Uint8Array[] = []): Uint8Array[] {
  const json = Buffer.from(JSON.stringify({ header, bodies: bodies.map(({ length }) => length) }));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return [length, json, ...bodies];
}

/**
 * Decodes frames from a stream.
 *
 * @throws FrameError for a frame that is malformed or larger than `maxBytes`
 */
export async function* readFrames(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Frame> {
  const read = takeBytes(stream);
  for (;;) {
    const prefix = await read(LENGTH_BYTES);
    if (prefix === undefined) return;
    const length = Buffer.from(prefix).readUInt32BE();
    if (length > maxBytes) throw new FrameError('too large');
    const envelope = parseEnvelope(await read(length));
    const total = envelope.bodies.reduce((sum, each) => sum + each, length);
    if (total > maxBytes) throw new FrameError('too large');
    const bodies: Uint8Array[] = [];
    for (const size of envelope.bodies) bodies.push((await read(size)) ?? cut());
    yield { header: envelope.header, bodies };
  }
}

class FrameError extends Error {}

function parseEnvelope(json: Uint8Array | undefined): { header: unknown; bodies: number[] } {
  const { header, bodies } = JSON.parse(Buffer.from(json ?? cut()).toString('utf8'));
  const valid = Array.isArray(bodies) && bodies.length <= MAX_BODIES && bodies.every(isLength);
  if (!valid) throw new FrameError('malformed');
  return { header, bodies };
}

function isLength(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function cut(): never {
  throw new FrameError('cut');
}

/** Reads exact lengths; undefined when the stream has ended. */
function takeBytes(stream: AsyncIterable<Uint8Array>): (length: number) => Promise<Uint8Array | undefined> {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);
  return async (length) => {
    const parts: Uint8Array[] = [];
    let missing = length;
    while (missing > 0) {
      if (rest.length === 0) {
        const next = await chunks.next();
        if (next.done) return missing === length ? undefined : cut();
        rest = next.value;
      }
      const part = rest.subarray(0, missing);
      parts.push(part);
      rest = rest.subarray(part.length);
      missing -= part.length;
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts, length);
  };
}
