import type { MessageData, MessageSend, Workspace } from '@uswarm/contract';
import type { PrintedReplies } from './replies.js';
import type { Outcome, ServerEvent } from './turn.js';

/** What a chat has printed about one message of the user; JSON, so that a later chat continues after it. */
export interface PrintedTurn extends PrintedReplies {
  /** The last lines of messages. */
  lines: [id: string, text: string][];
  /** Messages of delegations and workflows that have ended. */
  ended: string[];
}

/** The output of a chat, as text or as JSON lines. */
export interface Renderer {
  /** Prints a note about the connection. */
  note(text: string): void;
  /** Called with the first state of the workspace and after each change of it. */
  workspace(workspace: Workspace): void;
  /** Prints earlier messages of the conversation. Events of other conversations are not rendered. */
  history(conversationId: string, messages: readonly MessageData[]): void;
  sent(message: MessageSend): void;
  /** The user has chosen an action of a card. */
  chosen(): void;
  event(event: ServerEvent): void;
  /** Newest messages of the conversation, loaded because events may have been missed. `firstId` is the first one of the turn. */
  messages(messages: readonly MessageData[], firstId: string | undefined): void;
  /** What was printed since the last `sent`. */
  printed(): PrintedTurn;
  /** Continues a turn of an earlier chat after what that has printed. */
  resume(localId: string, printed: PrintedTurn): void;
  /** The turn has ended. */
  settled(outcome: Outcome): void;
}
