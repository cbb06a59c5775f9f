import { INVISIBLE } from '@uswarm/service-kit';

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
