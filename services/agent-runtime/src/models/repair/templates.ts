// Recognizes chat template text that remains after the server has removed its special tokens, and message headers.

/** Templates whose special tokens the server has removed. */
const BARE_ANALYSIS = /^analysis(?=[\p{Lu}"'“‘(\d]|\s*\n)/u;
const BARE_CALL =
  /^(?:assistant)?(?:commentary)?\s*to=(?:functions\.)?([\w.-]+)\s*(?:commentary)?\s*(?:<\|constrain\|>)?(?:json)?\s*(?:code)?\s*(?=\{)/;
const BARE_END = /assistant(?:\s*)(?:final|(?:commentary|analysis)(?=\s*to=))/;
const ANNOUNCED = /^here(?: is|['’]s) my thought process:/i;
const ANNOUNCED_END = /here(?: is|['’]s) my response:\s*/i;
/** The token before each text, which is an element of HTML with a text directly after it. */
const BEGIN = /^(?:<s>\s*)*<s>(?=\s|<)\s*/;
const STARTS = [
  '<s>',
  'analysis',
  'commentary to=',
  'to=functions.',
  'here is my thought process:',
  "here's my thought process:",
  'here’s my thought process:',
];

/** Characters in the longest start. */
const MAX_START = 120;

const PARTIAL = /^(?:analysis\s*|(?:commentary )?to=[^{\n]{0,80})$/;

/** Tags around the answer that follows thoughts. */
const ANSWER_OPEN = /^<(answer|response|output|final|final_answer)>\s*/i;
const ANSWER_OPENS = ['<answer>', '<response>', '<output>', '<final>', '<final_answer>'];
export const ANSWER_CLOSE = /^<\/(?:answer|response|output|final|final_answer)>/i;

/** The kind of text that opens a step. */
export type Start =
  | { type: 'partial' }
  /** A token without a text. */
  | { type: 'token'; opening: string }
  /** A tag around the answer. */
  | { type: 'answer'; opening: string }
  | { type: 'thought'; opening: string; close: RegExp }
  | { type: 'call'; opening: string; recipient: string };

/** Classifies a step's opening, without white space; undefined if it is text. */
export function startOf(
  text: string,
  { afterThought, isWhole }: { afterThought: boolean; isWhole: boolean },
): Start | undefined {
  const call = BARE_CALL.exec(text);
  if (call !== null) return { type: 'call', opening: call[0], recipient: call[1] ?? '' };
  const analysis = BARE_ANALYSIS.exec(text);
  if (analysis !== null) return { type: 'thought', opening: analysis[0], close: BARE_END };
  const announced = ANNOUNCED.exec(text);
  if (announced !== null) return { type: 'thought', opening: announced[0], close: ANNOUNCED_END };
  const begin = BEGIN.exec(text);
  if (begin !== null) return { type: 'token', opening: begin[0] };
  const answer = afterThought ? ANSWER_OPEN.exec(text) : null;
  if (answer !== null) return { type: 'answer', opening: answer[0] };
  if (isWhole || text === '') return undefined;
  const lower = text.slice(0, MAX_START).toLowerCase();
  const starts = afterThought ? [...STARTS, ...ANSWER_OPENS] : STARTS;
  const isPartial = starts.some((start) => start.startsWith(lower)) || PARTIAL.test(lower);
  return isPartial ? { type: 'partial' } : undefined;
}

/** True if the end is optional: without it, the text only looked like thoughts. */
export const isOptional = (close: RegExp): boolean => close === ANNOUNCED_END;

/** Header of a message with channels. */
export function readHeader(header: string): { role: string; channel: string; recipient: string | undefined } {
  const recipient = /\bto=([^\s<]+)/.exec(header)?.[1];
  return {
    role: /^<\|start\|>\s*(\w+)/.exec(header)?.[1] ?? 'assistant',
    channel: /<\|channel\|>\s*(\w+)/.exec(header)?.[1] ?? 'final',
    recipient: recipient === 'user' ? undefined : recipient,
  };
}
