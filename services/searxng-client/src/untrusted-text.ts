/**
 * What strangers can hide text in or break output with: controls, format marks (zero-width, bidi,
 * tag characters), private use, non-characters, and everything else that shows as nothing (fillers,
 * variation selectors, the one that colours an emoji among them).
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * One line of plain text from a stranger's text: hidden characters dropped, white space (line breaks
 * too, so that a result cannot forge another one) collapsed, at most `maxLength` code points.
 */
export function cleanText(text: string, maxLength: number): string {
  const line = text.toWellFormed().replace(/\s+/gu, ' ').replace(HIDDEN, '').replace(/ {2,}/g, ' ').trim();
  const characters = [...line];
  return characters.length <= maxLength
    ? line
    : `${characters
        .slice(0, maxLength - 1)
        .join('')
        .trimEnd()}…`;
}
