import type { Output, Renderer } from './renderer.js';

/** Writes the sent message and each event to `lines` as one line of JSON, and notes to `notes`. */
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
