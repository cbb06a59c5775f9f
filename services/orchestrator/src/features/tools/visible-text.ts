import { DECEPTIVE_IN_TEXT } from '@uswarm/service-kit';

/** Text as the user sees it: without characters that hide or reorder text. Keeps line breaks and the joiners of scripts and emoji. */
export const visibleText = (text: string): string => text.toWellFormed().replaceAll(DECEPTIVE_IN_TEXT, '');

/** Characters without a shape. The Braille blank is a symbol for Unicode. */
const BLANK = /^[\s\p{Cc}\p{Cf}\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Returns true if the user would see nothing. */
export const isBlank = (text: string): boolean => BLANK.test(text);
