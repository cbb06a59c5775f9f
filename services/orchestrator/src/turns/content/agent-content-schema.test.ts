import { describe, expect, it } from '@jest/globals';
import { offeredContent } from './agent-content-schema.js';

const CARD = {
  type: 'action_card',
  title: 't',
  description: 'd',
  actions: [{ id: 'a', label: 'A', style: 'primary' }],
};

describe('offeredContent', () => {
  it('returns a card without a selected action', () => {
    expect(offeredContent({ ...CARD, selected_action_id: 'a' })).toEqual({ ...CARD, selected_action_id: null });
  });

  it('returns a card that does not look like the approval of a call', () => {
    const approval = { approval: { tool: 'gmail', permission: 'ask' }, expires_at: '2226-01-01T00:00:00.000Z' };
    expect(offeredContent({ ...CARD, ...approval })).toEqual({ ...CARD, selected_action_id: null });
  });

  it('returns text that can be stored', () => {
    expect(offeredContent({ ...CARD, title: 'a\u0000b\ud800' })).toMatchObject({ title: 'ab\ufffd' });
  });

  it('invariant 6: returns labels, title and description without characters that cannot be seen', () => {
    const hidden = 'Ye\u200bs\u202e\u{e0041}';
    const card = {
      ...CARD,
      title: hidden,
      description: hidden,
      actions: [{ ...CARD.actions[0], label: `\n${hidden}` }],
    };
    expect(offeredContent(card)).toMatchObject({ title: 'Yes', description: 'Yes', actions: [{ label: 'Yes' }] });
  });

  it.each([
    ['a card with a label that cannot be seen', { ...CARD, actions: [{ ...CARD.actions[0], label: '\u200b\n' }] }],
    ['undefined', undefined],
    ['a text', { type: 'text', text: 'x' }],
    ['a system message', { type: 'system', text: 'x' }],
    ['a delegation', { type: 'delegation', status: 'running', task_preview: 'x' }],
    ['an unknown type', { type: 'video' }],
    ['a card without actions', { ...CARD, actions: [] }],
    ['a card with two actions of one id', { ...CARD, actions: [...CARD.actions, ...CARD.actions] }],
    ['a card of another shape', { ...CARD, more: 1 }],
    ['a card that is far too large', { ...CARD, description: 'x'.repeat(70_000) }],
  ])('rejects %s', (_what, value) => {
    expect(offeredContent(value)).toBeUndefined();
  });
});
