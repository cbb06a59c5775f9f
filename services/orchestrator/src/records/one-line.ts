import { UNPRINTABLE_IN_LINES } from '@uswarm/service-kit';
import { visibleText } from './visible-text.js';

/** Text of a model as one line, without characters that hide or reorder text, or that cannot be seen. */
export const oneLine = (text: string): string =>
  visibleText(text.replaceAll(/\s+/g, ' ')).replaceAll(UNPRINTABLE_IN_LINES, '').trim();
