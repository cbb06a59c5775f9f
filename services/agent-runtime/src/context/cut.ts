import { estimateText } from '../tokens/estimate.js';

/** Replaces the middle of a text that was too long. */
export const CUT_MARKER = '\n[… the middle is omitted, because it does not fit into the context …]\n';

/** Minimum characters in a shortened text, so that an untrusted block's tags remain. */
const MIN_HEAD = 160;
const MIN_TAIL = 80;
const MIN_KEPT = MIN_HEAD + MIN_TAIL;

/** Text has fewer characters per token, except long runs of spaces. */
const MAX_CHARACTERS_PER_TOKEN = 12;

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code < 0xe000;

/** Keeps about `kept` characters: two thirds from the start, one third from the end. Splits no character. */
function withoutMiddle(text: string, kept: number): string {
  const tail = Math.max(MIN_TAIL, Math.floor(kept / 3));
  let headEnd = kept - tail;
  let tailStart = text.length - tail;
  if (isHighSurrogate(text.charCodeAt(headEnd - 1))) headEnd -= 1;
  if (isLowSurrogate(text.charCodeAt(tailStart))) tailStart += 1;
  return `${text.slice(0, headEnd)}${CUT_MARKER}${text.slice(tailStart)}`;
}

/**
 * Shortens a text to at most `maxTokens` of estimate: its middle is replaced by `CUT_MARKER`. Text that fits is returned
 * as it is. Undefined if less than about 240 characters would remain.
 */
export function cutMiddle(text: string, maxTokens: number): string | undefined {
  if (estimateText(text) <= maxTokens) return text;
  const fits = (kept: number): boolean => estimateText(withoutMiddle(text, kept)) <= maxTokens;
  if (text.length <= MIN_KEPT || !fits(MIN_KEPT)) return undefined;
  let kept = MIN_KEPT;
  let tooMany = Math.min(text.length, Math.max(MIN_KEPT + 1, Math.ceil(maxTokens * MAX_CHARACTERS_PER_TOKEN)));
  while (tooMany - kept > 1) {
    const middle = Math.floor((kept + tooMany) / 2);
    if (fits(middle)) kept = middle;
    else tooMany = middle;
  }
  return withoutMiddle(text, kept);
}
