import { LIMITS } from '@uswarm/contract';
import { visibleText } from '../../http/visible-text.js';
import { invalid } from '../messages/draft.js';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Long enough for the first words of a message, including whitespace and combining accents. */
const SCANNED_CHARACTERS = 2_000;

const oneLine = (text: string): string => visibleText(text.replaceAll(/\s+/gu, ' '));

/** Normalizes a title from a client to one line. @throws ApiError `validation_failed` if it has no visible text */
export function checkedTitle(sent: string): string {
  const title = oneLine(sent);
  if (title === '') throw invalid('title', 'must have a visible character');
  return title;
}

/** Derives a title from the first words of a message; undefined if the message has no text. */
export function titleOf(text: string): string | undefined {
  const line = oneLine(text.slice(0, SCANNED_CHARACTERS));
  const characters = [...segmenter.segment(line)].map(({ segment }) => segment);
  if (characters.length <= LIMITS.titleFromMessage) return line === '' ? undefined : line;
  const head = characters.slice(0, LIMITS.titleFromMessage).join('');
  const blank = head.lastIndexOf(' ');
  // Many scripts have no spaces between words. A single long word is truncated, not dropped.
  return `${(blank > head.length / 2 ? head.slice(0, blank) : head).trimEnd()}…`;
}
