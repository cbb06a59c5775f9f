import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type FileText, selectText, type TextRequest } from './index.js';

const base = { total: 0, truncated: false, scanned: [], notes: [] };

const book: FileText = {
  ...base,
  kind: 'pages',
  title: 'The whale',
  total: 1_000,
  parts: Array.from({ length: 1_000 }, (_, index) => ({
    label: `Page ${index + 1}`,
    text: `${'The sea was calm and the crew slept. '.repeat(50)}\n${index === 776 ? 'Captain Ahab nails a gold doubloon to the mast.' : ''}`,
  })),
};

const sheet: FileText = {
  ...base,
  kind: 'rows',
  total: 400,
  parts: [
    {
      label: 'Sheet "Costs"',
      text: Array.from({ length: 300 }, (_, row) => `${row + 1}\tItem ${row},${row * 2}`).join('\n'),
    },
    { label: 'Sheet "Notes"', text: Array.from({ length: 100 }, (_, row) => `${row + 1}\tNote ${row}`).join('\n') },
  ],
};

describe('selectText', () => {
  it('gives a whole short text', () => {
    const text: FileText = { ...base, kind: 'text', total: 1, parts: [{ label: '', text: 'Hello' }] };
    expect(selectText(text, {}, 1_000)).toEqual({ text: 'Hello' });
  });

  it('tells how to continue', () => {
    const { text, next } = selectText(book, {}, 8_000);
    expect(text.length).toBeLessThanOrEqual(8_000);
    expect(text).toMatch(/^"The whale", 1,000 pages\n\[Page 1\]\n/);
    expect(text).toMatch(/\n\[characters 0–7,\d{3} of 1,\d{3},\d{3}; continue with offset 7\d{3}\]$/);
    expect(next).toEqual({ offset: expect.any(Number) });
  });

  it('gives pages, and continues in them', () => {
    const ask = { pages: '10-20' };
    const first = selectText(book, ask, 3_000);
    expect(first.text).toContain('[Page 10]');
    expect(first.text).toContain('continue with pages "10-20" and offset ');
    expect(first.next).toMatchObject({ pages: '10-20' });
    const second = selectText(book, first.next ?? {}, 3_000);
    expect(second.text).toMatch(/\n\[Page 1\d, continued\]\n/);
  });

  it('finds the page with the words asked for', () => {
    const { text, found } = selectText(book, { query: 'gold doubloon' }, 2_000);
    expect(found).toBe(1);
    expect(text).toMatch(/1 passage matches:\n\n\[Page 777\]\n.*[\s\S]*doubloon/);
  });

  it('finds words without their accents, their case and their endings', () => {
    const text: FileText = { ...base, kind: 'text', total: 1, parts: [{ label: '', text: 'a\nDie Größen\nb' }] };
    expect(selectText(text, { query: 'GROSSE größe' }, 1_000).found).toBe(1);
  });

  it('finds words of languages without spaces', () => {
    const text: FileText = { ...base, kind: 'text', total: 1, parts: [{ label: '', text: 'これは日本語の文章です' }] };
    expect(selectText(text, { query: '日本語' }, 1_000).found).toBe(1);
  });

  it('gives rows of one sheet by their numbers', () => {
    const { text } = selectText(sheet, { pages: '2', rows: '10-11' }, 1_000);
    expect(text).toBe('2 sheets, 400 rows\n[Sheet "Notes"]\n10\tNote 9\n11\tNote 10');
  });

  it('names the rows of a match', () => {
    const { text } = selectText(sheet, { query: 'Item 299' }, 2_000);
    expect(text).toMatch(/\[Sheet "Costs", rows \d+–300\]/);
  });

  it.each<[TextRequest, string]>([
    [{ pages: '0' }, 'pages is "0"; it must be a number or a range, such as "3" or "10-12".'],
    [{ pages: 'ten' }, 'pages is "ten"; it must be a number or a range, such as "3" or "10-12".'],
    [{ pages: '12-10' }, 'pages is "12-10"; it must be a number or a range, such as "3" or "10-12".'],
    [{ pages: '2000' }, 'The page was not found: the last one is 1,000.'],
    [{ pages: '1', rows: '99' }, 'The line was not found: the last one is 2.'],
    [{ offset: 99_999_999 }, '"The whale", 1,000 pages\nThe text ends at character 1,'],
    [{ query: 'zebra' }, '"The whale", 1,000 pages\nNothing matches "zebra". Try other words.'],
  ])('explains %j', (ask, message) => {
    expect(selectText(book, ask, 1_000).text.startsWith(message)).toBe(true);
  });

  it('tells which of the chosen pages may be scanned', () => {
    const text: FileText = {
      ...base,
      kind: 'pages',
      total: 2,
      parts: [
        { label: 'Page 1', text: 'a' },
        { label: 'Page 2', text: '' },
      ],
      scanned: [2],
    };
    expect(selectText(text, {}, 1_000).text).toContain('[Without text, perhaps scanned: page 2]');
    expect(selectText(text, { pages: '1' }, 1_000).text).not.toContain('scanned');
  });

  it('treats null like absence', () => {
    expect(selectText(sheet, { pages: null, rows: null, offset: null, query: null }, 500)).toEqual(
      selectText(sheet, {}, 500),
    );
  });

  it('never exceeds the characters, and its continuations give the whole text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ label: fc.constantFrom('', 'Part'), text: fc.string({ unit: 'grapheme', maxLength: 900 }) }),
          { minLength: 1, maxLength: 5 },
        ),
        fc.integer({ min: 500, max: 1_500 }),
        (parts, maxCharacters) => {
          const text: FileText = { ...base, kind: 'sections', total: parts.length, parts };
          const whole = parts.map((part) => (part.label ? `[${part.label}]\n${part.text}` : part.text)).join('\n\n');
          let collected = 0;
          let ask: TextRequest | undefined = {};
          while (ask !== undefined) {
            const selected = selectText(text, ask, maxCharacters);
            expect(selected.text.length).toBeLessThanOrEqual(maxCharacters);
            const end: number = selected.next?.offset ?? whole.length;
            expect(selected.text).toContain(whole.slice(collected, end));
            collected = end;
            ask = selected.next;
          }
          expect(collected).toBe(whole.length);
        },
      ),
      { numRuns: 50 },
    );
  });
});
