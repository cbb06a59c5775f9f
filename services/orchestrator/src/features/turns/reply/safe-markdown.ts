import { type Destination, destinationAt, type IsOwn } from './link-destination.js';

/**
 * Changes Markdown so that no renderer loads an image of another host, and no link hides the host that it leads to. The rules
 * look at a few characters and do not depend on blocks, code or nesting, about which renderers disagree:
 *
 * - `![` becomes `! [`, except in an image of our own host;
 * - a link to another host gets the host at the end of its text: `[here (example.com)](https://example.com/x)`;
 * - `](` and `]:` before any other address that can leave our host become `] (` and `] :`, so that the address is shown;
 * - `<` of HTML that can load, link or hide something is followed by a space, and `&` of entities of invisible characters as well;
 * - `://` before an address with a user name is followed by a space.
 */
export interface Scan {
  /** The position up to which the source is converted. */
  end: number;
  output: string;
  /** The fence of the block of code at `end`; empty outside of one. Tags are text there. */
  fence: string;
}

/** What replaces the characters at a position. `hold`: it depends on characters that are not known yet. */
type Step = 'hold' | { taken: number; output: string };

/** Characters of a text, tag or entity that are looked at. Longer ones are changed. */
const MAX_ALT = 300;
const MAX_TAG = 500;
const MAX_FENCE = 200;
const MAX_AUTHORITY = 300;

/** Elements that load something without attributes, or that hide their text. */
const HIDING =
  /^(?:script|style|svg|math|template|noscript|textarea|title|xmp|plaintext|noembed|noframes|iframe|select|details|dialog|object|head)$/i;
/** Complete attributes: a quote that is open would continue the tag behind its first `>`. */
const ATTRIBUTES = /^(?:\s+[^\s"'<>/=`]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>`]+))?)*\s*$/;
/** Attributes that can load, link or hide. Addresses of our own host have none of the characters. */
const RISKY = /[:/\\&(`]|hidden|style/i;
/** It has no character that another rule changes: with a space in it, it would be a tag. */
const AUTOLINK = /^<https?:\/\/(?:[^\s<>\\@[\]&]|&(?![#a-z0-9]*;))*>$/i;
const MAIL = /^<(?:mailto:)?[\w.+-]+@[\w.-]+>$/;
const ENTITY = /&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});/y;
const PARTIAL_ENTITY = /&#?[A-Za-z0-9]{0,31}$/y;
const INVISIBLE_NAMES =
  /^(?:shy|zwj|zwnj|lrm|rlm|NoBreak|ZeroWidthSpace|Negative\w+Space|InvisibleTimes|InvisibleComma|ApplyFunction|it|ic|af|NewLine|Tab)$/;
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

const kept = (text: string): Step => ({ taken: text.length, output: text });

function imageAt(source: string, at: number, isLast: boolean, isOwn: IsOwn): Step {
  if (source[at + 1] === undefined && !isLast) return 'hold';
  if (source[at + 1] !== '[') return kept('!');
  const foreign: Step = { taken: 2, output: '! [' };
  const alt = /[^[\]\\<>`\n!]*/y;
  alt.lastIndex = at + 2;
  alt.exec(source);
  const close = alt.lastIndex;
  if (close - at > MAX_ALT) return foreign;
  if (source.length < close + 2 && !isLast) return 'hold';
  if (!source.startsWith('](', close)) return foreign;
  const to = destinationAt(source, close + 2, { isLast, isOwn });
  if (to.kind === 'hold') return 'hold';
  return to.kind === 'own' ? kept('![') : foreign;
}

/** Whether the text before a position ends with the host, outside of the address of an image. */
function endsWithHost(source: string, at: number, host: string): boolean {
  const before = source.slice(Math.max(0, at - host.length - 4), at).toLowerCase();
  if (before.endsWith(` (${host})`)) return true;
  return ['[', ' ', '://'].some((start) => before.endsWith(`${start}${host}`));
}

function changedLink(source: string, at: number, to: Destination): string {
  if (to.kind === 'own') return '](';
  if (to.kind !== 'host') return '] (';
  return endsWithHost(source, at, to.host) ? '](' : ` (${to.host})](`;
}

function linkAt(source: string, at: number, isLast: boolean, isOwn: IsOwn): Step {
  const next = source[at + 1];
  if (next === undefined && !isLast) return 'hold';
  if (next !== '(' && next !== ':') return kept(']');
  const to = destinationAt(source, at + 2, { isLast, isOwn, isDefinition: next === ':' });
  if (to.kind === 'hold') return 'hold';
  if (next === '(') return { taken: 2, output: changedLink(source, at, to) };
  return { taken: 1, output: to.kind === 'own' ? ']' : '] ' };
}

function tagAt(source: string, at: number, isLast: boolean): Step {
  const next = source[at + 1];
  if (next === undefined) return isLast ? kept('<') : 'hold';
  if (!/[A-Za-z/!?]/.test(next)) return kept('<');
  const changed: Step = { taken: 1, output: '< ' };
  const rest = source.slice(at, at + MAX_TAG);
  const close = rest.slice(1).search(/[<>]/) + 1;
  if (close === 0) return isLast || rest.length === MAX_TAG ? changed : 'hold';
  const tag = rest.slice(0, close + 1);
  if (AUTOLINK.test(tag) || MAIL.test(tag)) return kept('<');
  const [, name = '', attributes = ''] = /^<\/?([A-Za-z][A-Za-z0-9-]*)([^<>]*?)\/?>$/.exec(tag) ?? [];
  const isHarmless = name !== '' && !HIDING.test(name) && ATTRIBUTES.test(attributes) && !RISKY.test(attributes);
  return isHarmless ? kept('<') : changed;
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

function addressAt(source: string, at: number, isLast: boolean): Step {
  if (source.length < at + 3 && '://'.startsWith(source.slice(at)) && !isLast) return 'hold';
  if (!source.startsWith('://', at)) return kept(':');
  const authority = /[^\s/?#()[\]<>"]*/y;
  authority.lastIndex = at + 3;
  const [text = ''] = authority.exec(source) ?? [];
  if (authority.lastIndex === source.length && text.length < MAX_AUTHORITY && !isLast) return 'hold';
  return { taken: 3, output: text.includes('@') ? ':// ' : '://' };
}

/** The fence at the start of a line, and what follows it. */
interface FenceLine {
  run: string;
  info: string;
}

function fenceAt(source: string, at: number, isLast: boolean): FenceLine | 'hold' {
  const [run = ''] = /^(?:`+|~+)/.exec(source.slice(at, at + MAX_FENCE)) ?? [];
  const end = source.indexOf('\n', at);
  if (end === -1 && !isLast && source.length - at < MAX_FENCE) return 'hold';
  return { run, info: source.slice(at + run.length, end === -1 ? source.length : end) };
}

function stepAt(source: string, at: number, isLast: boolean, isOwn: IsOwn, inCode: boolean): Step {
  switch (source[at]) {
    case '!':
      return imageAt(source, at, isLast, isOwn);
    case ']':
      return linkAt(source, at, isLast, isOwn);
    case '<':
      return inCode ? kept('<') : tagAt(source, at, isLast);
    case '&':
      return entityAt(source, at, isLast);
    case ':':
      return addressAt(source, at, isLast);
    default:
      return kept(source[at] ?? '');
  }
}

/** The fence after such a line. */
function fenceAfter(fence: string, { run, info }: FenceLine): string {
  if (fence !== '') return run.startsWith(fence) && info.trim() === '' ? '' : fence;
  return run.length < 3 || (run.startsWith('`') && info.includes('`')) ? '' : run;
}

/** Bounded, because a match of megabytes can exceed the stack of the regular expression. */
const PLAIN = /[^!\]<&:\n]{1,65536}/y;

/**
 * Converts the source from a position on. Pure.
 *
 * @param isLast whether the source ends here; otherwise what depends on the characters that follow is left
 */
export function scan(source: string, from: { end: number; fence: string }, isLast: boolean, isOwn: IsOwn): Scan {
  let { end: at, fence } = from;
  let output = '';
  while (at < source.length) {
    if ((at === 0 || source[at - 1] === '\n') && /[`~]/.test(source[at] ?? '')) {
      const found = fenceAt(source, at, isLast);
      if (found === 'hold') break;
      fence = fenceAfter(fence, found);
    }
    PLAIN.lastIndex = at;
    const [plain] = PLAIN.exec(source) ?? [];
    const step = plain === undefined ? stepAt(source, at, isLast, isOwn, fence !== '') : kept(plain);
    if (step === 'hold') break;
    output += step.output;
    at += step.taken;
  }
  return { end: at, output, fence };
}
