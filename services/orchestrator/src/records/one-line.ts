import { UNPRINTABLE_IN_LINES } from '@uswarm/service-kit';
import { visibleText } from './visible-text.js';

/** Makes model text one line, without invisible characters or characters that hide or reorder text. */
export const oneLine = (text: string): string =>
  visibleText(text.replaceAll(/\s+/g, ' ')).replaceAll(UNPRINTABLE_IN_LINES, '').trim();
