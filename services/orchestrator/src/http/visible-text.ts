import { DECEPTIVE_IN_NAMES } from '@uswarm/service-kit';

/** Removes characters from a name that are invisible or misleading. */
export function visibleText(sent: string): string {
  return sent.toWellFormed().replaceAll(DECEPTIVE_IN_NAMES, '').normalize('NFC').trim();
}
