import { BLANK, DECEPTIVE_IN_TEXT } from '@uswarm/service-kit';

/**
 * Text as the user sees it: without characters that hide or reorder text. Keeps line breaks and the joiners in scripts
 * and emoji.
 */
export const visibleText = (text: string): string => text.toWellFormed().replaceAll(DECEPTIVE_IN_TEXT, '');

/** True if the user would see nothing. */
export const isBlank = (text: string): boolean => BLANK.test(text);
