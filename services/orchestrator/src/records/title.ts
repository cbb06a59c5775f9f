import { LIMITS } from '@uswarm/contract';
import { visibleLine } from '../platform/http/visible-text.js';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Long enough for a message's first words, including whitespace and combining accents. */
const SCANNED_CHARACTERS = 2_000;

/** @returns undefined if the message has no text */
export function titleOf(text: string): string | undefined {
  const line = visibleLine(text.slice(0, SCANNED_CHARACTERS));
  const characters = [...segmenter.segment(line)].map(({ segment }) => segment);
  if (characters.length <= LIMITS.titleFromMessage) return line === '' ? undefined : line;
  const head = characters.slice(0, LIMITS.titleFromMessage).join('');
  const blank = head.lastIndexOf(' ');
  // Many scripts have no spaces between words. A single long word is truncated, not dropped.
  return `${(blank > head.length / 2 ? head.slice(0, blank) : head).trimEnd()}…`;
}
