import { describe, expect, it } from '@jest/globals';
import type { TextRule } from '../tasks/task.js';
import { matches, pair } from './match.js';

describe('a rule for a text', () => {
  it.each<[TextRule, boolean]>([
    ['GREEN', true],
    ['black', false],
    ['/^green\\s+tea/', true],
    [['green', 'tea'], true],
    [['green', 'black'], false],
    [{ any: ['black', 'tea'] }, true],
    [{ any: ['black', 'white'] }, false],
    [{ not: 'black' }, true],
    [{ not: ['green', 'tea'] }, false],
  ])('%j for “Green tea”: %s', (rule, expected) => {
    expect(matches('Green tea', rule)).toBe(expected);
  });
});

describe('pairing rules with items', () => {
  const fits = (item: string, rule: string): boolean => item.includes(rule);

  it('gives each rule a separate item, whichever rule comes first', () => {
    expect(pair(['a', 'ab'], ['ab', 'a'], fits)).toEqual({ missing: [], unexpected: [] });
    expect(pair(['ab', 'a'], ['ab', 'a'], fits)).toEqual({ missing: [], unexpected: [] });
  });

  it('reports rules without an item, and items without a rule', () => {
    expect(pair(['a', 'a', 'x'], ['a', 'b'], fits)).toEqual({ missing: ['a', 'x'], unexpected: ['b'] });
  });
});
