import { type Destination, destinationAt, type IsOwn, canLoad, isRiskyName, openingAt } from './markdown-tags.js';
import { afterBackticks, type CodeState, isInSpan, lineBefore, lineStart, NO_CODE } from './markdown-code.js';

/**
 * Changes Markdown so that no renderer loads an image from another host and no link hides its host. The rules look at a
 * few characters. They depend on code blocks and spans only where all renderers agree about them:
 *
 * - `![` becomes `! [`, except for an image on our own host;
 * - a link to another host gets the host at the end of its text: `[here (example.com)](https://example.com/x)`;
 * - `](` and `]:` before any other address that can leave our host become `] (` and `] :`, so that the address is
 *   shown;
 * - a space follows the `<` of HTML that can load, link, run or hide something, except in code, and the `&` of entities
 *   for invisible characters. Any other `<` stays. If a reader may take it for a tag that is still open, effectful
 *   attribute names get a space;
 * - a space follows `://` in a web address with a user name.
 */
export interface Scan extends ScanState {
  output: string;
}

export interface ScanState {
  end: number;
  code: CodeState;
  /** A tag that only some readers see and that has no end yet. */
  open: OpenTag | undefined;
  /** True if this paragraph may have opened an image, which ends with the next address. */
  isInImage: boolean;
}

interface OpenTag {
  /** True if its attributes can load something. */
  canLoad: boolean;
  /** True if a `>` can be in quotes. */
  hasQuotes: boolean;
  /** True if its name comes next. */
  isAtName: boolean;
}

export const START: ScanState = { end: 0, code: NO_CODE, open: undefined, isInImage: false };

/** Replaces `taken` characters. `hold`: depends on characters that have not arrived. */
type Step = 'hold' | { taken: number; output: string };

/** Characters. Longer texts, tags and entities are changed without a closer look. */
const MAX_ALT = 300;
const MAX_AUTHORITY = 300;
const MAX_SCHEME = 40;
const MAX_NAME = 100;

const ENTITY = /&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});/y;
const PARTIAL_ENTITY = /&#?[A-Za-z0-9]{0,31}$/y;
const INVISIBLE_NAMES =
  /^(?:shy|zwj|zwnj|lrm|rlm|NoBreak|ZeroWidthSpace|Negative\w+Space|InvisibleTimes|InvisibleComma|ApplyFunction|it|ic|af|NewLine|Tab)$/;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

const kept = (text: string): Step => ({ taken: text.length, output: text });

/** `maybe`: marks in the image's text make its end uncertain. */
function imageAt(source: string, at: number, isLast: boolean, isOwn: IsOwn): Step | 'maybe' {
  if (source[at + 1] === undefined && !isLast) return 'hold';
  if (source[at + 1] !== '[') return kept('!');
  const foreign: Step = { taken: 2, output: '! [' };
  const alt = /[^[\]\\<>`\n!]*/y;
  alt.lastIndex = at + 2;
  alt.exec(source);
  const close = alt.lastIndex;
  if (close - at > MAX_ALT) return 'maybe';
  if (close < source.length && source[close] !== ']') return 'maybe';
  if (source.length < close + 2) return isLast ? kept('![') : 'hold';
  if (source[close + 1] === '[') return foreign;
  if (source[close + 1] !== '(') return kept('![');
  const to = destinationAt(source, close + 2, { isLast, isOwn });
  if (to.kind === 'hold') return 'hold';
  return to.kind === 'own' ? kept('![') : foreign;
}

/** A tag in a link's text that would hide the text's end from some readers. */
const OPEN_IN_TEXT = /<[A-Za-z/!?](?:[^>[\]\\]|\\[^]|\[[^[\]]*\])*$/;

/** True if the text before a position ends with the host, except within an image address. */
function endsWithHost(source: string, at: number, host: string): boolean {
  const before = source.slice(Math.max(0, at - host.length - 4), at).toLowerCase();
  if (before.endsWith(` (${host})`)) return true;
  return ['[', ' ', '://'].some((start) => before.endsWith(`${start}${host}`));
}

function changedLink(source: string, at: number, to: Destination): string {
  if (to.kind === 'own') return '](';
  if (to.kind !== 'host' || OPEN_IN_TEXT.test(source.slice(Math.max(0, at - MAX_ALT), at))) return '] (';
  return endsWithHost(source, at, to.host) ? '](' : ` (${to.host})](`;
}

function linkAt(source: string, at: number, isLast: boolean, isOwn: IsOwn, isInImage: boolean): Step {
  const next = source[at + 1];
  if (next === undefined && !isLast) return 'hold';
  if (next !== '(' && next !== ':') return kept(']');
  const to = destinationAt(source, at + 2, { isLast, isOwn, isDefinition: next === ':' });
  if (to.kind === 'hold') return 'hold';
  if (next === '(') return { taken: 2, output: isInImage && to.kind !== 'own' ? '] (' : changedLink(source, at, to) };
  return { taken: 1, output: to.kind === 'own' ? ']' : '] ' };
}

function entityAt(source: string, at: number, isLast: boolean): Step {
  ENTITY.lastIndex = at;
  const name = ENTITY.exec(source)?.[1];
  if (name === undefined) {
    PARTIAL_ENTITY.lastIndex = at;
    return !isLast && PARTIAL_ENTITY.test(source) ? 'hold' : kept('&');
  }
  const code = name.startsWith('#') ? Number(`0${name.slice(1).toLowerCase()}`) : undefined;
  const decimal = /^#[0-9]+$/.test(name) ? Number(name.slice(1)) : code;
  const isInvisible =
    decimal === undefined
      ? INVISIBLE_NAMES.test(name)
      : decimal > 0x10_ff_ff || INVISIBLE.test(String.fromCodePoint(decimal));
  return isInvisible ? { taken: 1, output: '& ' } : kept('&');
}

/** Readers do not link these addresses, such as database URLs. */
const OTHER_SCHEME = /(?<![a-z0-9+.-])(?!(?:https?|ftp|wss?)$)[a-z][a-z0-9+.-]{1,30}$/i;

function addressAt(source: string, at: number, isLast: boolean): Step {
  if (source.length < at + 3 && '://'.startsWith(source.slice(at)) && !isLast) return 'hold';
  if (!source.startsWith('://', at)) return kept(':');
  if (OTHER_SCHEME.test(source.slice(Math.max(0, at - MAX_SCHEME), at))) return kept('://');
  const authority = /[^\s/?#()[\]<>"]*/y;
  authority.lastIndex = at + 3;
  const [text = ''] = authority.exec(source) ?? [];
  if (authority.lastIndex === source.length && text.length < MAX_AUTHORITY && !isLast) return 'hold';
  return { taken: 3, output: text.includes('@') ? ':// ' : '://' };
}

const BEFORE_BLOCK = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t>]+)*$/;

interface Stepped {
  step: Step;
  state: ScanState;
}

function tagAt(source: string, at: number, isLast: boolean, state: ScanState): Stepped {
  const { code } = state;
  if (code.fence !== '') return { step: kept('<'), state };
  const before = lineBefore(source, at);
  const startsLine = before !== undefined && BEFORE_BLOCK.test(before);
  const opening = openingAt(source, at, { startsLine, isLast, isInTag: state.open !== undefined });
  if (opening === 'hold') return { step: 'hold', state };
  const isCode = opening !== 'tag' && isInSpan(source, at, isLast, code);
  if (isCode === 'hold') return { step: 'hold', state };
  if (isCode) return { step: kept('<'), state };
  if (opening === 'active') return { step: { taken: 1, output: '< ' }, state };
  const isInstruction = source.startsWith('<?', at);
  if (opening === 'tag' && startsLine) {
    // HTML up to its closing tag, even across empty lines.
    const lost = /^<pre\b/i.test(source.slice(at, at + 5)) ? 'end' : code.lost;
    return { step: kept('<'), state: { ...state, code: { ...code, isHtml: true, lost } } };
  }
  if (isInstruction) return { step: kept('<'), state: { ...state, code: { ...code, isUnclear: true } } };
  if (opening === 'tag' || !/^<\/?[A-Za-z]/.test(source.slice(at, at + 3))) return { step: kept('<'), state };
  return {
    step: kept('<'),
    state: { ...state, open: state.open ?? { canLoad: canLoad(source, at), hasQuotes: false, isAtName: true } },
  };
}

const WORD = /[\w-]+/y;
const AFTER_WORD = /\s*/y;

function wordAt(source: string, at: number, isLast: boolean, open: OpenTag): Step {
  WORD.lastIndex = at;
  const [word = ''] = WORD.exec(source) ?? [];
  const end = at + word.length;
  if (open.isAtName || /[\w-]/.test(source[at - 1] ?? '') || word.length > MAX_NAME) return kept(word);
  if (end === source.length && !isLast) return 'hold';
  if (!isRiskyName(word, open.canLoad)) return kept(word);
  AFTER_WORD.lastIndex = end;
  AFTER_WORD.exec(source);
  const next = AFTER_WORD.lastIndex;
  if (next === source.length && next - end < MAX_NAME && !isLast) return 'hold';
  const isAttribute = source[next] === '=' || next - end >= MAX_NAME;
  return isAttribute ? { taken: word.length, output: `${word.slice(0, 1)} ${word.slice(1)}` } : kept(word);
}

function inOpenTag(source: string, at: number, isLast: boolean, state: ScanState, open: OpenTag): Stepped {
  const character = source[at] ?? '';
  if (/[\w-]/.test(character)) {
    return { step: wordAt(source, at, isLast, open), state: { ...state, open: { ...open, isAtName: false } } };
  }
  if (character === '>' && !open.hasQuotes) return { step: kept('>'), state: { ...state, open: undefined } };
  const hasQuotes = open.hasQuotes || /["']/.test(character);
  return { step: kept(character), state: { ...state, open: { ...open, hasQuotes } } };
}

function stepAt(source: string, at: number, isLast: boolean, isOwn: IsOwn, state: ScanState): Stepped {
  switch (source[at]) {
    case '!': {
      const step = imageAt(source, at, isLast, isOwn);
      return step === 'maybe' ? { step: kept('!['), state: { ...state, isInImage: true } } : { step, state };
    }
    case ']':
      return { step: linkAt(source, at, isLast, isOwn, state.isInImage), state };
    case '<':
      return tagAt(source, at, isLast, state);
    case '&':
      return { step: entityAt(source, at, isLast), state };
    case ':':
      return { step: addressAt(source, at, isLast), state };
    case '`': {
      const [run = ''] = /^`+/.exec(source.slice(at)) ?? [];
      if (at + run.length === source.length && !isLast) return { step: 'hold', state };
      return { step: kept(run), state: { ...state, code: afterBackticks(run, state.code) } };
    }
    default:
      return state.open === undefined
        ? { step: kept(source[at] ?? ''), state }
        : inOpenTag(source, at, isLast, state, state.open);
  }
}

/** Bounded, because a match of megabytes can exhaust the regular expression's stack. */
const PLAIN = /[^!\]<&:`\n]{1,65536}/y;

/** @param isLast true if the source ends here; otherwise text that depends on later characters is left */
export function scan(source: string, from: ScanState, isLast: boolean, isOwn: IsOwn): Scan {
  let state = from;
  let output = '';
  while (state.end < source.length) {
    const at = state.end;
    if (at === 0 || source[at - 1] === '\n') {
      const code = lineStart(source, at, isLast, state.code);
      if (code === 'hold') break;
      const isInImage = state.isInImage && !/^[\s>]*\n/.test(source.slice(at, at + MAX_ALT));
      state = { ...state, code, isInImage, open: code.fence === '' ? state.open : undefined };
    }
    PLAIN.lastIndex = at;
    const [plain] = (state.open === undefined ? PLAIN.exec(source) : null) ?? [];
    const next = plain === undefined ? stepAt(source, at, isLast, isOwn, state) : { step: kept(plain), state };
    if (next.step === 'hold') break;
    output += next.step.output;
    state = { ...next.state, end: at + next.step.taken };
  }
  return { ...state, output };
}
