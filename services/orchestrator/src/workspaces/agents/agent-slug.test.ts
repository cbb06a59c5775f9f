import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checkedMentions } from '../../records/draft.js';
import { slugOf } from './agent-slug.js';

const NONE = new Set<string>();

describe('slugOf', () => {
  it.each([
    ['Tax adviser', 'tax-adviser'],
    ['  Q&A – Bot! ', 'q-a-bot'],
    ['José Müller', 'jose-muller'],
    ['税務アドバイザー', '税務アドバイザー'],
    ['İstanbul', 'istanbul'],
    ['🦊', 'agent'],
    ['x'.repeat(60), 'x'.repeat(40)],
  ])('makes of the name %j the slug %s', (name, slug) => {
    expect(slugOf(name, NONE)).toBe(slug);
  });

  it('numbers a slug that is taken', () => {
    expect(slugOf('Coder', new Set(['coder', 'coder-2']))).toBe('coder-3');
  });

  it('returns a slug that can be mentioned, whatever the name is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (name) => {
        const slug = slugOf(name, NONE);
        const text = `@${slug} hello`;
        const draft = { content: { type: 'text', text }, mentions: [], attachments: [] };
        const found = checkedMentions(draft, text, [{ id: 'a', name, slug, kind: 'sub-agent' }]);
        expect(found).toEqual([{ agent_id: 'a', agent_name: name, offset: 0, length: slug.length + 1 }]);
      }),
    );
  });
});
