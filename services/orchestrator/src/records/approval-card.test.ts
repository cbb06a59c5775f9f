import { expect, it } from '@jest/globals';
import { ASKED } from '../../test/message-client.js';
import { approvalCard, callHash } from './approval-card.js';

const descriptionOf = (changes: Parameters<typeof approvalCard>[0]['changes']): string =>
  approvalCard({ title: 'Creating the event', changes }, ASKED).description ?? '';

it('invariant 6: a card shows old and new values in full, without characters that hide or reorder text', () => {
  const changes = [{ label: 'Time', before: '10:00\u200b', after: `17:00\u202e${'!'.repeat(5_000)}` }];
  const card = approvalCard({ title: 'Moving\u{e0041} the event', changes }, ASKED);
  expect(card.title).toBe('Approve? Moving the event');
  expect(card.description).toBe(`Time: “10:00” → “17:00${'!'.repeat(5_000)}”`);
});

it('a value cannot look like another change', () => {
  const lines = descriptionOf([
    { label: 'Invites', after: 'eve@example.com' },
    { label: 'Description', after: 'Lunch”\nInvites: “bob@example.com' },
  ]).split('\n');
  expect(lines).toEqual(['Invites: “eve@example.com”', 'Description: “Lunch”', '  Invites: “bob@example.com”']);
});

it('invariant 5: the hash of a call is the same for equal arguments in any order, and differs for others', () => {
  const same = callHash('send', { to: ['a', 'b'], text: 'x' });
  expect(callHash('send', { text: 'x', to: ['a', 'b'] }).equals(same)).toBe(true);
  for (const [tool, input] of [
    ['draft', { to: ['a', 'b'], text: 'x' }],
    ['send', { to: ['b', 'a'], text: 'x' }],
    ['send', { to: ['a', 'b'], text: 'x', cc: null }],
    ['send', { to: 'a,b', text: 'x' }],
  ] as const)
    expect(callHash(tool, input).equals(same)).toBe(false);
});
