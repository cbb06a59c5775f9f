import { describe, expect, it } from '@jest/globals';
import { excerptOf } from './excerpt.js';

describe('excerptOf', () => {
  it('shows what surrounds the first word that was found', () => {
    const text = `${'before '.repeat(20)}green tea${' after'.repeat(40)}`;
    const excerpt = excerptOf({ type: 'text', text, text_blocks: [] } as never, 'TEA green');
    expect(excerpt).toMatch(/^…(?:\w+ )*green tea after.*…$/);
    expect(excerpt.length).toBeLessThan(170);
  });
  it('has the title and the description of a card', () => {
    expect(excerptOf({ type: 'action_card', title: 'Which?', description: 'Tea' } as never, 'tea')).toBe('Which?: Tea');
  });
});
