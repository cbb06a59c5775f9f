import { UNPRINTABLE_IN_LINES } from '@uswarm/service-kit';

/** Text of a model as one line, without characters that hide or reorder text. */
export const oneLine = (text: string): string =>
  text.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(UNPRINTABLE_IN_LINES, '').trim();
