import { expect, it } from '@jest/globals';
import { textOf } from './text-of.js';

it('joins numbered parts, of which some are special', () => {
  expect(textOf({ parts: { before: 'Name', count: 3, each: 'Row {n}', at: { '2': 'Special {n}' } } })).toBe(
    'Name\nRow 1\nSpecial 2\nRow 3',
  );
});

it('is a text that is given whole', () => {
  expect(textOf({ text: '{n}' })).toBe('{n}');
});
