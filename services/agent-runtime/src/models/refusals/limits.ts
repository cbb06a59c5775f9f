import { numberIn } from './words.js';

// Finds the limit that a server names when it refuses a request for its size.

/** As servers write numbers: 8192, 8,192, 8_192, 200 000, 128k, 1M. */
const NUMBER = String.raw`\d{1,3}(?:[,_'’\u00a0\u202f ]\d{3})+(?![\d])|\d{1,3}(?:\.\d{3})+(?=\s*tokens)|\d+(?:\.\d+)?\s?[km]\b|\d+`;

/** Windows below this are not believed; such numbers are counts of something else. */
const LEAST = 256;

const THOUSAND = 1_000;

function toNumber(written: string): number {
  const unit = /[km]$/.exec(written)?.[0];
  if (unit !== undefined) return Number.parseFloat(written) * (unit === 'k' ? THOUSAND : THOUSAND * THOUSAND);
  return Number(written.replaceAll(/\D/g, ''));
}

/** Words before a limit, the certain ones first. */
const LIMIT_WORDS = [
  String.raw`\bmax(?:imum)?\b|\bmax_(?!tokens|completion|new|output)[a-z_]+|\blimit(?:ed)?\b|\bat most\b|\bup to\b|\bno more than\b|\bonly\b|\b(?:not|never) exceed\b|\bn_ctx\b|\bcontext[ _-]?(?:length|window|size)\b|\ballowed\b|上限|最大|不超过|최대|максимальн|maximal|máxim|massim|límite|\blimite\b`,
  String.raw`\b(?:less|fewer|smaller|lower|longer|larger|greater|more) than\b|\bexceed(?:s|ed|ing)?\b|<=?|≤|>=?`,
];

/** Text between a limit and its name. The excluded words introduce the request's size instead. */
const BETWEEN = String.raw`(?:(?!exceed|request|you|given|got|receiv|provid|actual|contain|however|result|\bby\b|\bbut\b|\bwhile\b)[^\d.\n]){0,60}?`;

/** Characters before a limit that name what it limits. */
const SUBJECT = 25;

/** A number with such a unit is not a token limit. */
const OTHER_UNIT =
  /^\W{0,3}(?:bytes?|[kmg]i?b\b|characters?|chars?\b|messages|images?|items|elements|tools|requests|seconds|minutes)/;

/** Forms in which the limit is not the first number after its words. */
const FORMS = [
  // n_keep: 13055 >= n_ctx: 4096
  new RegExp(String.raw`\bn_ctx\W{0,4}(${NUMBER})`, 'u'),
  // 198000 + 20000 > 200000
  new RegExp(String.raw`(?:${NUMBER})\s*\+\s*(?:${NUMBER})\s*>=?\s*(${NUMBER})`, 'u'),
  // 210000 tokens > 200000 maximum
  new RegExp(String.raw`(?:>=?|with|of|above|over)\s*(${NUMBER})\s*(?:tokens?\s*)?max(?:imum)?\b`, 'u'),
  // length (9000) is greater than the maximum (8192)
  new RegExp(
    String.raw`(?<!(?:max|limit)[\w ]{0,20})\((?:${NUMBER})(?: tokens)?\) (?:is |are )?(?:greater|larger|longer|more|higher|above|over|exceeds?|exceeded)\b[^\d.\n]{0,60}?(${NUMBER})`,
    'u',
  ),
  // 9000 > 8192, 9000/8192
  new RegExp(String.raw`(?:${NUMBER})\s*(?:tokens?\s*)?(?:>=?|/)\s*(${NUMBER})`, 'u'),
  // the range should be [1, 30720]
  new RegExp(String.raw`\[\s*\d+\s*,\s*(${NUMBER})\s*\]`, 'u'),
  // must be <= 8192
  new RegExp(String.raw`(?:must|should|value)\W[^\d\n]{0,30}<=?\s*(${NUMBER})`, 'u'),
];

/** The greatest number of tokens, not below `least`, that a refusal's words allow; undefined if they name none. */
export function limitIn(words: string, least = LEAST): number | undefined {
  for (const form of FORMS) {
    const found = form.exec(words)?.[1];
    if (found !== undefined && toNumber(found) >= least) return toNumber(found);
  }
  for (const before of LIMIT_WORDS) {
    for (const match of words.matchAll(new RegExp(String.raw`(?:${before})(${BETWEEN})(${NUMBER})`, 'gu'))) {
      const [whole, between = '', written = ''] = match;
      const tokens = toNumber(written);
      const rest = words.slice(match.index + whole.length);
      // `limit (2013)` is an error code if the text has no tokens.
      const isCode =
        between.endsWith('(') && /limit\W*$/.test(whole.slice(0, -written.length)) && !words.includes('token');
      const isString = /\b(?:string|char)/.test(
        words.slice(Math.max(0, match.index - SUBJECT), match.index + whole.length),
      );
      if (tokens >= least && !OTHER_UNIT.test(rest) && !isCode && !isString) return tokens;
    }
  }
  return smallerOfTwo(words);
}

/** Reads an unknown wording with two token counts: the limit is the smaller one. */
function smallerOfTwo(words: string): number | undefined {
  if (!words.includes('token')) return undefined;
  const matches = [...words.matchAll(new RegExp(NUMBER, 'gu'))].filter(
    ({ 0: written, index }) => toNumber(written) >= LEAST && !OTHER_UNIT.test(words.slice(index + written.length)),
  );
  const [one, other, ...more] = [...new Set(matches.map(([written]) => toNumber(written)))];
  if (one === undefined || other === undefined || more.length > 0 || /\bby \d/.test(words)) return undefined;
  return Math.min(one, other);
}

const WINDOW_FIELDS = ['n_ctx', 'context_length', 'context_window', 'max_context_length', 'max_model_len'];

/** The window that a refusal for size names, in a field or in words. */
export function windowIn(body: string, words: string): number | undefined {
  const field = numberIn(body, WINDOW_FIELDS);
  return field !== undefined && field >= LEAST ? field : limitIn(words);
}
