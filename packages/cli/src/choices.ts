import type { MessageData } from '@uswarm/contract';
import { isOpenCard } from './turn.js';

/** A card action. */
export interface Choice {
  messageId: string;
  actionId: string;
  label: string;
}

/** An action on an open card, and the number with which the user chooses it. */
export interface NumberedAction {
  number: number;
  actionId: string;
  label: string;
}

/** A conversation's open cards. */
export interface Choices {
  /** Adds, updates or removes a card. @returns its actions; empty unless it is open */
  update(message: MessageData): readonly NumberedAction[];
  remove(messageId: string): void;
  /** The action with a number; undefined if no open card has it. */
  find(number: number): Choice | undefined;
  /** The number of open actions. */
  readonly size: number;
}

/** Numbers continue while several cards are open, so that each number is one action. */
export function createChoices(): Choices {
  const cards = new Map<string, readonly NumberedAction[]>();
  const all = (): NumberedAction[] => [...cards.values()].flat();

  return {
    update(message) {
      const { id, content, extended_status: status } = message;
      // An app's question is part of a running answer, for which this chat waits.
      if (content.type !== 'action_card' || !isOpenCard(content, status) || content.form !== undefined) {
        cards.delete(id);
        return [];
      }
      const known = cards.get(id);
      const first = known?.[0]?.number ?? Math.max(0, ...all().map(({ number }) => number)) + 1;
      const actions = content.actions.map(({ id: actionId, label }, index) => ({
        number: first + index,
        actionId,
        label,
      }));
      cards.set(id, actions);
      return actions;
    },
    remove: (messageId) => void cards.delete(messageId),
    find(number) {
      for (const [messageId, actions] of cards) {
        const action = actions.find((one) => one.number === number);
        if (action !== undefined) return { messageId, actionId: action.actionId, label: action.label };
      }
      return undefined;
    },
    get size() {
      return all().length;
    },
  };
}
