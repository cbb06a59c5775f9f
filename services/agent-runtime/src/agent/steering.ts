import type { HistoryMessage } from '@uswarm/runtime-proto';
import { toFiles } from '../context/attached-files.js';
import { entryMessage } from '../context/conversation.js';
import type { PromptMessage } from '../models/port.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import type { SteeringEntry, TurnState } from './turn-state.js';

/** A steering message's prompt. */
export type SteeringPrompts = (id: string) => PromptMessage | undefined;

export interface Steering {
  prompts: SteeringPrompts;
  /** The entry for messages that the turn does not have yet; undefined without one. */
  next(state: Pick<TurnState, 'steeredBy'>): SteeringEntry | undefined;
}

/** @param images true if the model sees pictures */
export function createSteering(
  messages: () => readonly HistoryMessage[],
  { untrusted, images }: { untrusted: UntrustedBlock; images: boolean },
): Steering {
  return {
    prompts(id) {
      const found = messages().find((message) => message.id === id);
      if (found === undefined) return undefined;
      const said = { role: 'user', text: found.text.toWellFormed(), files: toFiles(found.files, images) } as const;
      return entryMessage(said, untrusted);
    },
    next({ steeredBy }) {
      const messageIds = messages().flatMap(({ id }) => (steeredBy.includes(id) ? [] : [id]));
      return messageIds.length === 0 ? undefined : { messageIds };
    },
  };
}
