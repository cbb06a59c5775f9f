import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { id, message } from '../test/script.js';
import { createChoices } from './choices.js';

const card = (last: number, count: number, state: 'open' | 'chosen' | 'closed') =>
  message({
    id: id(last),
    content: {
      type: 'action_card',
      title: 'Which?',
      description: '',
      actions: Array.from({ length: count }, (_, index) => ({
        id: `action-${index}`,
        label: `Action ${index}`,
        style: 'primary' as const,
      })),
      selected_action_id: state === 'chosen' ? 'action-0' : null,
    },
    status: 'delivered',
    extended_status: state === 'closed' ? 'failed' : 'delivered',
  });

describe('the choices of a chat', () => {
  it('give each action of all open cards its own number, which stays the same while the card is open', () => {
    const update = fc.record({
      last: fc.integer({ min: 1, max: 4 }),
      state: fc.constantFrom('open' as const, 'open' as const, 'chosen' as const, 'closed' as const),
    });
    fc.assert(
      fc.property(fc.array(update, { maxLength: 20 }), (updates) => {
        const choices = createChoices();
        const open = new Map<number, number[]>();
        for (const { last, state } of updates) {
          const numbers = choices.update(card(last, last + 1, state)).map(({ number }) => number);
          expect(numbers).toHaveLength(state === 'open' ? last + 1 : 0);
          expect(numbers).toEqual(state === 'open' ? (open.get(last) ?? numbers) : []);
          if (state === 'open') open.set(last, numbers);
          else open.delete(last);
          const all = [...open.values()].flat();
          expect(new Set(all).size).toBe(all.length);
          expect(choices.size).toBe(all.length);
          for (const [one, known] of open)
            expect(known.map((number) => choices.find(number))).toEqual(
              known.map((_, index) => ({ messageId: id(one), actionId: `action-${index}`, label: `Action ${index}` })),
            );
        }
      }),
    );
  });

  it('have no actions of deleted cards', () => {
    const choices = createChoices();
    choices.update(card(1, 2, 'open'));
    choices.remove(id(1));
    expect(choices.find(1)).toBeUndefined();
    expect(choices.size).toBe(0);
  });
});
