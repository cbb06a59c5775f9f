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

describe('a choice', () => {
  it.each([
    ['can be made', card(), 'a', false],
    ['can be made where the card says that none was', card(null), 'b', false],
    ['was made already', card('a'), 'a', true],
    ['comes too late', card('a'), 'b', 'action_already_chosen'],
    ['is unknown', card(), 'c', 'action_not_found'],
    ['is unknown also where another was made', card('a'), 'c', 'action_not_found'],
    ['is none of a text', { type: 'text', text: 'a' } as const, 'a', 'action_not_found'],
  ])('%s', (_what, content, action, outcome) => {
    expect(codeOf(content, action)).toBe(outcome);
  });

  it('is none of a card that failed', () => {
    expect(codeOf(card(), 'a', 'failed')).toBe('action_not_found');
  });

  it('has the label of its action', () => {
    expect(choiceOf({ content: card(), status: 'delivered' }, 'b').label).toBe('B');
  });
});
