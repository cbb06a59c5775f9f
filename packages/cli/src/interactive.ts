import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { Failure } from './failure.js';

export interface InteractiveDeps {
  input: Readable;
  /** Receives the prompt and the echo of the input. */
  output: Writable;
  terminal: boolean;
  send: (text: string) => Promise<unknown>;
  /** Called on Ctrl-C; cancels the pending `send`. */
  interrupt: () => void;
  /** Ends the chat. */
  signal: AbortSignal;
}

const HELP = `/help  print this help
/quit  end the chat, like Ctrl-D and Ctrl-C
Any other line is sent to the swarm.
`;

/** Sends each line of the input as a message, one after the other, until the input ends, /quit or Ctrl-C. */
export async function chatInteractively(deps: InteractiveDeps): Promise<void> {
  const { input, output, terminal, send, interrupt, signal } = deps;
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
    else if (text.startsWith('/')) output.write(`Unknown command ${text}. /help lists the commands.\n`);
    else if (text !== '') await sendAndReportFailure(text);
    // Buffered lines are still processed after the input ended.
    if (!ended) lines.prompt();
  }
  lines.close();
  if (terminal) output.write('\n');

  /** A rejected message does not end the chat. */
  async function sendAndReportFailure(text: string): Promise<void> {
    try {
      await send(text);
    } catch (error) {
      if (interrupted) return;
      if (!(error instanceof Failure)) throw error;
      output.write(`${error.message}\n`);
    }
  }
}
