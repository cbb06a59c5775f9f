import { limitIn, windowIn } from './limits.js';

const OVERFLOW = [
  /context[ _-]?(?:length|window|size|limit|overflow)/,
  /\b(?:prompt|inputs?|messages?|conversation|text|request|payload|content|body|entity|sequence|history|query)\b[^.\n]{0,40}\btoo (?:long|large|big)\b/,
  /too many (?:\w+ )?tokens/,
  /\b(?:input|prompt|message|sequence|request|total|token)s?[ _](?:tokens? )?(?:count|length|size|tokens?)\b[^.\n]{0,60}(?:exceed|longer|larger|greater|too|above|over|must be|should be|should have|cannot be)/,
  /\binputs?`? (?:tokens|must have (?:less|fewer))/,
  /tokens?\b[^.\n]{0,60}(?:must be (?:<|less|fewer|at most)|<=|exceed|limit[: ])/,
  /exceed\w*\b[^.\n]{0,60}\b(?:tokens?|context|maximum (?:input|prompt|size|length)|available|allowed size)\b/,
  /max(?:imum)? (?:context|prompt|input|model|sequence|number of (?:\w+ )?tokens|allowed|request|payload|body|size)/,
  /reduce (?:the |your )?(?:length|size|prompt|input|messages?|number of tokens|context|conversation)/,
  /short(?:en|er) (?:your |the )?(?:prompt|input|messages?|conversation|context)/,
  /exceed_context_size|context_length_exceeded|string_above_max_length|array_above_max_length|request_too_large|prompt_too_long|tokens_limit_reached/,
  /max_tokens must be at least|must be at least 1, got -/,
  /(?:not|n't) fit (?:in|into|within)\b|\b(?:n_ctx|max_model_len|max_seq_len)\b|expected maxlength/,
  /tokens?\b[^.\n]{0,60}\b(?:can only|only \d|are allowed)|(?:at most|maximum of|context of) \d[\d,._]*\s?(?:k|m|(?:\w+ )?tokens)\b|\b(?:sequence|prompt|input) length \d+ >/,
  // Other languages: the context, and that it has a limit or is exceeded.
  /^(?=[^\n]{0,500}(?:kontext|contexte|contexto|contesto|контекст|上下文|コンテキスト|컨텍스트))(?=[^\n]{0,500}(?:maxim|máxim|massim|limit|límite|überschr|zu lang|dépass|trop long|exced|supera|максимальн|превыш|超|長すぎ|最大|초과|최대))/m,
  /(?:超过|超出|过长)[^。\n]{0,20}(?:长度|上下文|token|最大)|(?:输入|上下文|提示)[^。\n]{0,20}(?:过长|超过|超出)/,
];

/** A token limit over a time can have the words of an overflow. */
const RATE =
  /per (?:minute|min|second|hour|day)\b|\b[tr]p[mdhs]\b|rate[ _-]?limit|please wait|try again (?:in|later|after)|throttl/;
/** One request exceeds what such a limit allows at all, so that no wait helps. */
const ABOVE_RATE = /request too large|too large for|must be reduced|reduce your message size/;

/** Statuses whose responses are about the account, the model or the route. */
const NEVER: ReadonlySet<number> = new Set([401, 402, 403, 404]);
const LIMITED: ReadonlySet<number> = new Set([429, 503, 529]);

const PAYLOAD_TOO_LARGE = 413;

interface Overflow {
  /** Tokens of prompt and output together that the server accepts, if it names them. */
  limit: number | undefined;
}

/** The refusal because a request is too large; undefined for another failure. */
export function overflowOf(status: number | undefined, body: string, words: string): Overflow | undefined {
  const isRate = RATE.test(words) || (status !== undefined && LIMITED.has(status));
  if (status !== PAYLOAD_TOO_LARGE) {
    if (status !== undefined && (status < 400 || NEVER.has(status))) return undefined;
    if (isRate && !ABOVE_RATE.test(words)) return undefined;
    if (!isRate && (outputLimitOf(words) !== undefined || !OVERFLOW.some((pattern) => pattern.test(words)))) {
      return undefined;
    }
  }
  return { limit: windowIn(body, words) };
}

/** Smaller numbers are counts of something else. */
const LEAST_OUTPUT = 16;

const OUTPUT =
  /(?:max_(?:completion_|output_|new_)?tokens|maximum (?:output )?tokens|max (?:output )?tokens|output tokens)\b[^\n]{0,80}(?:must be|should be|too (?:large|big|high|many)|exceed|cannot|>|at most|range|less than|maximum|limit)|integer above maximum|(?:completion|output) tokens\b/;
/** The prompt is part of the limit. */
const WITH_PROMPT =
  /context length|context size|context limit|\binputs?\b[^.\n]{0,12}tokens?`? ?(?:\+|and)|input length and|\bprompt\b|\bmessages\b|max_tokens must be at least|at least 1, got -/;

/**
 * The model's output limit, if the request asked for more output; `null` if the server does not name it, undefined if
 * the refusal is about something else.
 */
export function outputLimitOf(words: string): number | null | undefined {
  if (WITH_PROMPT.test(words) || !OUTPUT.test(words)) return undefined;
  if (
    !/too (?:large|big|high|many)|at most|must be|should be|exceed|>|range|above|lower than|less than|supports/.test(
      words,
    )
  )
    return undefined;
  const above = /max_(?:completion_|output_|new_)?tokens\D{0,6}\d+ > (\d+)/.exec(words)?.[1];
  return (above === undefined ? limitIn(words, LEAST_OUTPUT) : Number(above)) ?? null;
}
