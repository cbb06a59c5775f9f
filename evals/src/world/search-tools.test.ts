import { describe, expect, it } from '@jest/globals';
import { findPages } from './search-tools.js';

const page = (title: string, text: string) => ({ title, url: `https://example.org/${title}`, text });
const PAGES = [
  page('Tea', 'Green tea and black tea.'),
  page('Harbour', 'The harbour has a museum.'),
  page('Museum', 'Art.'),
];

describe('the pages that a query finds', () => {
  it('contain a word of it, those with most words first', () => {
    expect(findPages(PAGES, 'harbour museum').map(({ title }) => title)).toEqual(['Harbour', 'Museum']);
    expect(findPages(PAGES, 'the TEA').map(({ title }) => title)).toEqual(['Tea', 'Harbour']);
  });

  it('are none if no word occurs', () => {
    expect(findPages(PAGES, 'a b zebra')).toEqual([]);
  });
});
