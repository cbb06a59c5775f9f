import { describe, expect, it } from '@jest/globals';
import { ACTION_CARD_TOOL, actionCardTool } from './action-card.js';

const card = (input: Record<string, unknown>) => actionCardTool.run(input);
const actions = (count: number) => Array.from({ length: count }, (_, n) => ({ label: `Option ${n}` }));

describe('action_card_tool', () => {
  it('shows a card whose actions each have an id, a label and a style', () => {
    const shown = card({ title: ' Which? ', actions: [{ label: 'A', style: 'destructive' }, { label: 'B' }] });
    expect(shown).toMatchObject({
      failed: false,
      message: {
        type: 'action_card',
        title: 'Which?',
        description: '',
        actions: [
          { id: 'action_1', label: 'A', style: 'destructive' },
          { id: 'action_2', label: 'B', style: 'secondary' },
        ],
      },
    });
  });

  it('tells the model that the choice is still to come', () => {
    expect(card({ title: 't', actions: actions(1) }).text).toMatch(/next message/);
  });

  it.each([
    ['title', { actions: actions(1) }],
    ['title', { title: ' ', actions: actions(1) }],
    ['actions', { title: 't' }],
    ['actions', { title: 't', actions: [] }],
    ['actions', { title: 't', actions: actions(11) }],
    ['actions.0.label', { title: 't', actions: [{ label: '' }] }],
    ['actions.0.style', { title: 't', actions: [{ label: 'A', style: 'pink' }] }],
  ])('shows nothing where %s is wrong, and says so to the model', (path, input) => {
    expect(card(input)).toEqual({ failed: true, text: expect.stringContaining(`${ACTION_CARD_TOOL}: ${path}: `) });
  });
});
