import type { MessageData, MessageSend, Workspace } from '@uswarm/contract';
import type { PrintedReplies } from './replies.js';
import type { Outcome, ServerEvent } from './turn.js';

/** A chat's output about one user message; JSON, so that a later chat continues after it. */
export interface PrintedTurn extends PrintedReplies {
  /** Last lines by message. */
  lines: [id: string, text: string][];
  /** Ended delegation and workflow messages. */
  ended: string[];
}

/** Chat output, as text or as JSON lines. */
export interface Renderer {
  /** Prints a note about the connection. */
  note(text: string): void;
  /** Called with the first workspace state and after each change. */
  workspace(workspace: Workspace): void;
  /** Prints earlier messages. Events in other conversations are not rendered. */
  history(conversationId: string, messages: readonly MessageData[]): void;
  sent(message: MessageSend): void;
  /** The user has chosen a card action. */
  chosen(): void;
  event(event: ServerEvent): void;
  /** The newest messages, loaded because events may have been missed. `firstId` is the turn's first one. */
  messages(messages: readonly MessageData[], firstId: string | undefined): void;
  /** Output since the last `sent`. */
  printed(): PrintedTurn;
  /** Continues an earlier chat's turn after its output. */
  resume(localId: string, printed: PrintedTurn): void;
  /** The turn has ended. */
  settled(outcome: Outcome): void;
}
