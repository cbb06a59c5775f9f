import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { Failure } from './failure.js';

export interface InteractiveDeps {
  input: Readable;
  /** Where the prompt and what is typed are shown. */
  output: Writable;
  terminal: boolean;
  ask: (question: string) => Promise<unknown>;
  /** Called on Ctrl-C, so that a reply is not waited for. */
  interrupt: () => void;
  /** Ends the chat, also while nothing is asked. */
  signal: AbortSignal;
}

const HELP = `/help  this
/quit  ends the chat, as Ctrl-D and Ctrl-C do
Everything else is sent to the swarm.
`;

/** Reads questions line by line and asks them one after the other, until the input ends, /quit or Ctrl-C. */
export async function chatInteractively(deps: InteractiveDeps): Promise<void> {
  const { input, output, terminal, ask, interrupt, signal } = deps;
  const lines = createInterface({ input, output, terminal, prompt: terminal ? 'you> ' : '', signal });
  let interrupted = false;
  let ended = false;
  lines.on('close', () => {
    ended = true;
  });
  lines.on('SIGINT', () => {
    interrupted = true;
    interrupt();
    lines.close();
  });
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === '/quit' || interrupted) break;
    if (text === '/help') output.write(HELP);
    else if (text.startsWith('/')) output.write(`There is no command ${text}; /help lists them.\n`);
    else if (text !== '') await askAndGoOn(text);
    // Lines that came before the end of the input are still to be asked.
    if (!ended) lines.prompt();
  }
  lines.close();
  if (terminal) output.write('\n');

  /** A question that is refused does not end the chat. */
  async function askAndGoOn(question: string): Promise<void> {
    try {
      await ask(question);
    } catch (error) {
      if (interrupted) return;
      if (!(error instanceof Failure)) throw error;
      output.write(`${error.message}\n`);
    }
  }
}
