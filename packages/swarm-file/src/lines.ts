import type { Readable } from 'node:stream';
import { boundedJson } from './bounded-json.js';
import { SwarmFileError } from './problem.js';

const NEWLINE = 0x0a;
/** A message has up to a megabyte, which JSON can double. */
const MAX_LINE_BYTES = 4 * 1024 ** 2;
/** The arguments of a call can be long lists. */
const MAX_LINE_VALUES = 50_000;

/** Parses one JSON value per line, with one line in memory. @throws SwarmFileError */
export async function* jsonLines(content: Readable, path: string): AsyncGenerator<unknown> {
  let number = 0;
  let begun: Buffer[] = [];
  let length = 0;
  const take = (part: Buffer): void => {
    length += part.length;
    if (length > MAX_LINE_BYTES) throw new SwarmFileError('too_large', `${path}: line ${number + 1} is too long`);
    begun.push(part);
  };
  const parsed = (): unknown => {
    number += 1;
    const value = boundedJson(Buffer.concat(begun), `${path}: line ${number}`, 'rows_invalid', MAX_LINE_VALUES);
    [begun, length] = [[], 0];
    return value;
  };
  for await (const chunk of content as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, end));
      yield parsed();
      from = end + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  }
  if (length > 0) yield parsed();
}
