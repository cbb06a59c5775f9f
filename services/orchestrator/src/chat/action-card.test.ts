import { describe, expect, it } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { choiceOf } from './action-card.js';

const card = (selected?: string | null): MessageContent => ({
  type: 'action_card',
  title: '',
  description: '',
  actions: [
    { id: 'a', label: 'A', style: 'primary' },
    { id: 'b', label: 'B', style: 'secondary' },
  ],
  ...(selected === undefined ? {} : { selected_action_id: selected }),
});
const codeOf = (content: MessageContent, action: string, status = 'delivered') => {
  try {
    return choiceOf({ content, status }, action).made;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('choiceOf', () => {
  it.each([
    ['accepts an action of an open card', card(), 'a', false],
    ['accepts an action if selected_action_id is null', card(null), 'b', false],
    ['reports a repeated choice', card('a'), 'a', true],
    ['rejects a second choice', card('a'), 'b', 'action_already_chosen'],
    ['rejects an unknown action', card(), 'c', 'action_not_found'],
    ['rejects an unknown action after another choice', card('a'), 'c', 'action_not_found'],
    ['rejects a message that is not a card', { type: 'text', text: 'a' } as const, 'a', 'action_not_found'],
  ])('%s', (_what, content, action, outcome) => {
    expect(codeOf(content, action)).toBe(outcome);
  });

  it('rejects a choice on a failed card', () => {
    expect(codeOf(card(), 'a', 'failed')).toBe('action_not_found');
  });

  it('returns the label of the chosen action', () => {
    expect(choiceOf({ content: card(), status: 'delivered' }, 'b').label).toBe('B');
  });
});
