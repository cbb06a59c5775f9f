import { INVISIBLE } from '@uswarm/service-kit';
import { plainText } from './plain-text.js';

/** UTF-16 units that are read per field. Markup and entities are longer than the text that they show. */
const MAX_INPUT = 20_000;

/** Like `cleanText`, for text of web pages, which may contain markup and entities. */
export function cleanHtml(html: string, maxLength: number): string {
  return cleanText(plainText(html.slice(0, MAX_INPUT)), maxLength);
}

/**
 * Converts untrusted text to one line of at most `maxLength` code points: removes hidden characters and collapses white
 * space. Line breaks are included, so a result cannot imitate another one.
 */
export function cleanText(text: string, maxLength: number): string {
  const line = text.toWellFormed().replace(/\s+/gu, ' ').replaceAll(INVISIBLE, '').replace(/ {2,}/g, ' ').trim();
  const characters = [...line];
  return characters.length <= maxLength
    ? line
    : `${characters
        .slice(0, maxLength - 1)
        .join('')
        .trimEnd()}…`;
}

const INVISIBLE_IN_LINES =
  /(?![\t\n])[\p{Cc}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/** Like `cleanText`, for text of several lines: at most one of them is empty in a row. */
export function cleanLines(text: string): string {
  return (
    text
      .toWellFormed()
      .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
      .replaceAll(INVISIBLE_IN_LINES, '')
      .split('\n')
      // An expression for blanks before an end takes quadratic time for a run of blanks that has none.
      .map((line) => line.trimEnd())
      .join('\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim()
  );
}
