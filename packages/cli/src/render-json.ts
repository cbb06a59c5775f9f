import type { Output, Renderer } from './renderer.js';

/** One JSON line for the question and for each event; notes go to `notes`, so that `lines` holds nothing else. */
export function createJsonRenderer({ lines, notes }: { lines: Output; notes: Output }): Renderer {
  const line = (event: string, payload: unknown) => lines.write(`${JSON.stringify({ event, payload })}\n`);
  return {
    note: (text) => notes.write(`${text}\n`),
    sent: (message) => line('message.send', message),
    event: ({ name, payload }) => line(name, payload),
    workspace() {},
    history() {},
    streamed() {},
    answered() {},
  };
}
