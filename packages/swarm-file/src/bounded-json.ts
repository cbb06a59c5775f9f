import { LIMITS } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { SwarmFileError, type SwarmFileProblem } from './problem.js';

const [QUOTE, COMMA, OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [...Buffer.from('",[\\]{}')];

/** Counts without parsing. Text that is not JSON can have any result. */
function measured(bytes: Buffer): { values: number; depth: number } {
  let [values, level, depth] = [1, 0, 0];
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === COMMA) {
      values += 1;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values += 1;
      level += 1;
      depth = Math.max(depth, level);
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      level -= 1;
    }
  }
  return { values, depth };
}

/**
 * Parses JSON from anyone. A value, and a schema's complaint about it, need much more memory than the two bytes that
 * state it, so values are counted first.
 *
 * @param what for messages
 * @param problem of text that is not JSON, or is nested too deeply
 * @throws SwarmFileError
 */
export function boundedJson(bytes: Buffer, what: string, problem: SwarmFileProblem, maxValues: number): unknown {
  const { values, depth } = measured(bytes);
  if (values > maxValues) throw new SwarmFileError('too_large', `${what} has too many values`);
  // Functions that call themselves for each level need a limit.
  if (depth > LIMITS.jsonDepth) throw new SwarmFileError(problem, `${what} is nested too deeply`);
  const value = parseJson(bytes.toString());
  if (value === undefined) throw new SwarmFileError(problem, `${what} is not JSON`);
  return value;
}
