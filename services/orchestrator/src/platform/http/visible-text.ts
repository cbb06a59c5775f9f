import { ApiError } from '@uswarm/contract';
import { BLANK, DECEPTIVE_IN_NAMES } from '@uswarm/service-kit';

/** Removes invisible and misleading characters. @returns '' if nothing visible is left */
export function visibleText(sent: string): string {
  const text = sent.toWellFormed().replaceAll(DECEPTIVE_IN_NAMES, '').normalize('NFC').trim();
  return BLANK.test(text) ? '' : text;
}

/** Cleans every one-line text that clients or identity providers choose freely: names, titles, categories. */
export const visibleLine = (sent: string): string => visibleText(sent.replaceAll(/\s+/gu, ' '));

/**
 * As `visibleLine`, for a text that must not be empty. @throws ApiError `validation_failed` if it has no visible text
 */
export function requiredLine(path: string, sent: string): string {
  const line = visibleLine(sent);
  if (line !== '') return line;
  throw new ApiError('validation_failed', { extra: { fields: [{ path, message: 'must have a visible character' }] } });
}
