import type { ListedMessage, MessageSend, Workspace } from '@uswarm/contract';
import type { Outcome, ServerEvent } from './turn.js';

/** The output of a chat, as text or as JSON lines. */
export interface Renderer {
  /** Prints a note about the connection. */
  note(text: string): void;
  /** Called with the first state of the workspace and after each change of it. */
  workspace(workspace: Workspace): void;
  /** Prints earlier messages, ordered by position. */
  history(messages: readonly ListedMessage[]): void;
  sent(message: MessageSend): void;
  event(event: ServerEvent): void;
  /** Called with the complete text streamed so far. */
  streamed(progress: { agentId: string | undefined; generation: number; text: string }): void;
  answered(answer: { agentId: string | undefined; text: string; outcome: Outcome }): void;
}

export interface Output {
  write(text: string): void;
}
