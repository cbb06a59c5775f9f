import { LIMITS } from '@uswarm/contract';
import { visibleText } from '../../http/visible-text.js';
import { invalid } from '../messages/draft.js';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Characters that can hold the first words of a message, whatever blanks and accents are among them. */
const LOOKED_AT = 2_000;

const oneLine = (text: string): string => visibleText(text.replaceAll(/\s+/gu, ' '));

/** A title as a client sent it, on one line. @throws ApiError `validation_failed` when nothing visible is in it */
export function checkedTitle(sent: string): string {
  const title = oneLine(sent);
  if (title === '') throw invalid('title', 'must have a visible character');
  return title;
}

/** The first words of a message, for a conversation that has no title; undefined when it has none. */
export function titleOf(text: string): string | undefined {
  const line = oneLine(text.slice(0, LOOKED_AT));
  const characters = [...segmenter.segment(line)].map(({ segment }) => segment);
  if (characters.length <= LIMITS.titleFromMessage) return line === '' ? undefined : line;
  const head = characters.slice(0, LIMITS.titleFromMessage).join('');
  const blank = head.lastIndexOf(' ');
  // Many scripts have no blanks between words; and one long word is cut rather than left out.
  return `${(blank > head.length / 2 ? head.slice(0, blank) : head).trimEnd()}…`;
}
