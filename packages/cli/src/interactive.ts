import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { Failure } from './failure.js';

export interface InteractiveDeps {
  input: Readable;
  /** Receives the prompt and the input echo. */
  output: Writable;
  terminal: boolean;
  /** Executes a command or sends a message. */
  execute: (line: string) => Promise<unknown>;
  /** Called for `/stop` while a line is executed. */
  stop: () => Promise<unknown>;
  /** Called with a function that writes the prompt again, while the chat waits for input; otherwise without. */
  prompting: (refresh: (() => void) | undefined) => void;
  /** Called on Ctrl-C; cancels the pending `execute`. */
  interrupt: () => void;
  /** Ends the chat. */
  signal: AbortSignal;
}

const STOP = '/stop';

/** Executes each input line, one after the other, until the input ends, /quit or Ctrl-C. */
export async function chatInteractively(deps: InteractiveDeps): Promise<void> {
  const { input, output, terminal, execute, stop, prompting, interrupt, signal } = deps;
  const lines = createInterface({ input, output, terminal, prompt: terminal ? 'you> ' : '', signal });
  let interrupted = false;
  let ended = false;
  let busy = false;
  /** Lines with /stop that were executed when they were typed. */
  let stops = 0;
  let stopping: Promise<void> = Promise.resolve();
  lines.on('close', () => {
    ended = true;
  });
  lines.on('SIGINT', () => {
    interrupted = true;
    interrupt();
    lines.close();
  });
  lines.on('line', (line) => {
    if (!busy || line.trim() !== STOP) return;
    stops += 1;
    stopping = reportFailure(stop());
  });
  function prompt(): void {
    // Buffered lines are still processed after the input ended.
    if (ended) return;
    lines.prompt();
    if (terminal) prompting(() => lines.prompt(true));
  }
  prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === '/quit' || interrupted) break;
    prompting(undefined);
    busy = true;
    if (text === STOP && stops > 0) stops -= 1;
    else if (text !== '') await reportFailure(execute(text));
    await stopping;
    busy = false;
    prompt();
  }
  prompting(undefined);
  lines.close();
  if (terminal) output.write('\n');

  /** A rejected message does not end the chat. */
  async function reportFailure(execution: Promise<unknown>): Promise<void> {
    try {
      await execution;
    } catch (error) {
      if (interrupted) return;
      if (!(error instanceof Failure)) throw error;
      output.write(`${error.message}\n`);
    }
  }
}
