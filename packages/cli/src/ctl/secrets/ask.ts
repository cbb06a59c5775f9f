import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { Failure } from '../../failure.js';
import type { Ask } from './secret-inputs.js';

/** Asks at a terminal. A hidden answer is not echoed. The function throws a Failure if the person cancels. */
export function createAsk(input: Readable, output: Writable): Ask {
  return async (question, hidden) => {
    let isMuted = false;
    const echo = new Writable({
      write(chunk, _encoding, done) {
        if (!isMuted) output.write(chunk as Buffer);
        done();
      },
    });
    const lines = createInterface({ input, output: echo, terminal: true, historySize: 0 });
    const canceled = new AbortController();
    // Ctrl-C, and Ctrl-D or the end of the input. Otherwise the question would wait forever.
    lines.once('close', () => canceled.abort());
    try {
      const answer = lines.question(question, { signal: canceled.signal });
      isMuted = hidden;
      return await answer;
    } catch (cause) {
      throw canceled.signal.aborted ? new Failure('Canceled.', { cause }) : cause;
    } finally {
      lines.close();
      if (hidden) output.write('\n');
    }
  };
}
