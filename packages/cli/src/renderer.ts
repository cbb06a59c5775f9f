import type { ListedMessage, MessageSend, Workspace } from '@uswarm/contract';
import type { Outcome, ServerEvent } from './reply.js';

/** What a chat shows; as text for people, as JSON lines for programs. */
export interface Renderer {
  /** Something about the connection. */
  note(text: string): void;
  /** The state of the workspace, when it is first known and when it changed. */
  workspace(workspace: Workspace): void;
  /** What was said before, shown by position. */
  history(messages: readonly ListedMessage[]): void;
  sent(message: MessageSend): void;
  event(event: ServerEvent): void;
  /** The whole text that was streamed so far. */
  streamed(progress: { agentId: string | undefined; generation: number; text: string }): void;
  answered(answer: { agentId: string | undefined; text: string; outcome: Outcome }): void;
}

export interface Output {
  write(text: string): void;
}
