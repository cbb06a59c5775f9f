import type { Choices } from './choices.js';
import type { Output } from './output.js';
import type { Renderer } from './renderer.js';

export interface JsonRendererOptions {
  lines: Output;
  notes: Output;
  choices: Choices;
}

/** Writes the sent message and each event to `lines` as one line of JSON, and notes to `notes`. */
export function createJsonRenderer({ lines, notes, choices }: JsonRendererOptions): Renderer {
  const line = (event: string, payload: unknown) => lines.write(`${JSON.stringify({ event, payload })}\n`);
  return {
    note: (text) => notes.write(`${text}\n`),
    sent: (message) => line('message.send', message),
    event({ name, payload }) {
      if (name === 'message.new' || name === 'message.updated') choices.update(payload.message);
      line(name, payload);
    },
    workspace() {},
    history: (_conversationId, messages) => void messages.map(choices.update),
    chosen() {},
    messages() {},
    printed: () => ({ finished: [], lines: [], ended: [] }),
    resume() {},
    settled() {},
  };
}
