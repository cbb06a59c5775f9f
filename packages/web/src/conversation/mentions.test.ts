import { describe, expect, it } from '@jest/globals';
import { mentionsIn, queryOf } from './mentions.js';

const agents = [
  { id: '1', name: 'Researcher', slug: 'researcher' },
  { id: '2', name: 'Jörg', slug: 'joerg' },
];

describe('mentionsIn', () => {
  it('finds agents by slug and by name, with their places in UTF-16 units', () => {
    expect(mentionsIn('👋 @researcher and @Jörg: hello', agents)).toEqual([
      { agent_id: '1', agent_name: 'Researcher', offset: 3, length: 11 },
      { agent_id: '2', agent_name: 'Jörg', offset: 19, length: 5 },
    ]);
  });

  it('finds neither unknown names nor addresses', () => {
    expect(mentionsIn('@nobody ada@researcher.example', agents)).toEqual([]);
  });
});

describe('queryOf', () => {
  it('is what follows the @ up to the caret, until it cannot be a name', () => {
    const queries = ['@', '@Re', '@re x'].map((text) => queryOf(`a ${text}`, { start: 2, end: 2 + text.length }));
    expect(queries).toEqual(['', 're', undefined]);
  });
});
