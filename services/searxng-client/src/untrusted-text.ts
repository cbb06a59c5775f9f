/**
 * Characters that can hide text or break output: controls, format characters (zero-width, bidi, tags), private use,
 * non-characters, and other invisible characters (fillers, variation selectors including the one of emoji).
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Converts untrusted text to one line of at most `maxLength` code points: removes hidden characters and collapses white
 * space. Line breaks are included, so a result cannot imitate another one.
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
