/**
 * Classifies a `<` for readers of Markdown with HTML.
 *
 * - `active`: a tag that loads, links, runs or hides something, or that never closes and would swallow what follows;
 * - `tag`: a complete tag without effects;
 * - `text`: no tag in CommonMark, but simpler readers pass it to the HTML tokenizer, for which it opens a tag;
 * - `hold`: depends on characters that have not arrived.
 */
export type Opening = 'active' | 'tag' | 'text' | 'hold';

export interface TagContext {
  /** True if only white space and quote or list markers precede it in its line. */
  startsLine: boolean;
  isLast: boolean;
  /** True inside a tag that only the HTML tokenizer sees. */
  isInTag: boolean;
}

/** Characters. Longer tags are changed without a closer look. */
const MAX_TAG = 500;

/** Elements that have effects without attributes, or that hide their text. */
const HIDING =
  /^(?:script|style|svg|math|template|noscript|textarea|title|xmp|plaintext|noembed|noframes|iframe|select|details|dialog|head|bdo|video|audio|canvas|datalist|frameset|form|base|embed|applet|listing|rp|meter|progress)$/i;
/** CommonMark treats a line that begins with one of these as HTML even if the tag never closes. */
const BLOCK =
  /^(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|pre|script|search|section|style|summary|table|tbody|td|textarea|tfoot|th|thead|title|tr|track|ul)$/i;
/** Elements whose attributes can load, link or submit something. */
const LOADING =
  /^(?:a|area|base|body|button|embed|frame|iframe|image|img|input|link|meta|object|param|source|table|t[bdhr]|tbody|thead|tfoot|track|use)$/i;
/** Complete attributes: an open quote would continue the tag after its first `>`. */
const ATTRIBUTES = /^(?:\s+[^\s"'<>/=`]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'=<>`]+))?)*\s*$/;
/** Attribute text that can load, run, link or hide. Addresses on our own host have none of these characters. */
const RISKY = /[:/\\&(`[\]]|hidden|style|\bon[a-z]+\s*=|srcdoc|popover/i;
/** Has no character that another rule changes: with a space in it, it would become a tag. */
const AUTOLINK = /^<https?:\/\/(?:[^\s<>\\@[\]&]|&(?![#a-z0-9]*;))*>$/i;
const MAIL = /^<(?:mailto:)?[\w.+-]+@[\w.-]+>$/;
/** `vector<std::string>`, which CommonMark turns into a link that leads nowhere. */
const SCOPED_NAME = /^<[A-Za-z]\w*(?:::\w+)+[*&]*>$/;
/** The longest tag prefix that CommonMark accepts. An unclosed quote extends to the end. */
const START =
  /^<\/?[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"|'[^']*$|"[^"]*$|$))?)*\s*\/?/;
const UNFINISHED_ADDRESS = /^<(?:[A-Za-z][A-Za-z0-9+.-]{0,31}(?::[^\s<>]*)?|[\w.+-]+@[\w.-]*)$/;
/** `List<?>` and `Class<? extends Shape>`. */
const WILDCARD = /^<\?[\s\w,.?&]*>/;

export function openingAt(source: string, at: number, context: TagContext): Opening {
  const next = source[at + 1];
  if (next === undefined) return context.isLast ? 'text' : 'hold';
  const rest = source.slice(at, at + MAX_TAG);
  if (next === '!' || next === '?') return declaration(rest, context);
  if (next === '/' && rest.length === 2 && !context.isLast) return 'hold';
  return /^<\/?[A-Za-z]/.test(rest) ? tag(rest, context) : 'text';
}

function declaration(rest: string, { startsLine, isLast }: TagContext): Opening {
  if (rest.length < 4 && '<!--'.startsWith(rest) && !isLast) return 'hold';
  if (rest.startsWith('<!') && !/^<!(?:--|[A-Za-z[])/.test(rest)) return 'text';
  if (startsLine || rest.startsWith('<!--')) return 'active';
  if (WILDCARD.test(rest)) return 'text';
  if (rest.includes('>') || rest.length === MAX_TAG) return 'active';
  return isLast ? 'text' : 'hold';
}

function tag(rest: string, context: TagContext): Opening {
  const { isLast } = context;
  const hold = rest.length === MAX_TAG ? 'active' : 'hold';
  if (UNFINISHED_ADDRESS.test(rest) && !isLast) return hold;
  const [address = ''] = /^<[^\s<>]*>/.exec(rest) ?? [];
  if (AUTOLINK.test(address) || MAIL.test(address) || SCOPED_NAME.test(address)) return 'tag';
  // A link in CommonMark, even `<javascript:…>`.
  if (/^<[A-Za-z][A-Za-z0-9+.-]{1,31}:/.test(address)) return 'active';
  const [start = ''] = START.exec(rest) ?? [];
  // In CommonMark, a closing tag has no attributes.
  const isTag = !context.isInTag || !/^<\/[^\s>]*\s[^\s/]/.test(start);
  if (rest[start.length] === '>' && isTag) return completeTag(rest.slice(0, start.length + 1));
  if (start.length === rest.length && !isLast) return hold;
  // Uses only what is known at the first character outside the tag, so that the stream's chunk boundaries make no
  // difference.
  return looseTag(rest.slice(0, start.length + 1), context);
}

function completeTag(text: string): Opening {
  const [, name = '', attributes = ''] = /^<\/?([A-Za-z][A-Za-z0-9-]*)([^<>]*?)\/?>$/.exec(text) ?? [];
  const isHarmless = name !== '' && !HIDING.test(name) && ATTRIBUTES.test(attributes) && !RISKY.test(attributes);
  return isHarmless ? 'tag' : 'active';
}

/** For tags that only the HTML tokenizer recognizes. */
function looseTag(start: string, { startsLine, isInTag }: TagContext): Opening {
  const [, name = '', attributes = ''] = /^<\/?([^\s/>]*)([^]*)$/.exec(start) ?? [];
  if (HIDING.test(name) || (startsLine && BLOCK.test(name))) return 'active';
  if (isInTag) return 'text';
  const opensQuote = /=\s*(?:"[^"]*|'[^']*)$/.test(attributes);
  return opensQuote || (attributes.includes('=') && RISKY.test(attributes)) ? 'active' : 'text';
}

/** True if the tag's attributes can load something in simpler readers. */
export const canLoad = (source: string, at: number): boolean =>
  LOADING.test(/^<\/?([^\s/>]*)/.exec(source.slice(at, at + MAX_TAG))?.[1] ?? '');

/** Attributes that run, restyle, load or link. Ordinary words such as `one` or `online` do not match. */
const RUNNING =
  /^(?:style|href|src|srcset|srcdoc|formaction|on(?!(?:e|es|ce|ly|to|us|going|set|wards?|line|board|screen)$)[a-z]+)$/i;
/** Frequent in texts and code, so they count only in elements for which they mean something. */
const LINKING = /^(?:action|data|background|ping|content|poster|lowsrc|dynsrc|codebase|classid)$/i;

export const isRiskyName = (name: string, mayLoad: boolean): boolean =>
  RUNNING.test(name) || (mayLoad && LINKING.test(name));

/** True for our own host. */
export type IsOwn = (address: string) => boolean;

/**
 * Link target. `own`: our own host or none; `host`: this other host; `unclear`: readers can disagree about the host;
 * `hold`: depends on characters that have not arrived.
 */
export type Destination = { kind: 'own' } | { kind: 'host'; host: string } | { kind: 'unclear' } | { kind: 'hold' };

interface At {
  isLast: boolean;
  isOwn: IsOwn;
  /** True for a reference definition, whose address ends with white space. */
  isDefinition?: boolean;
}

const MAX_LENGTH = 2_048;
const MAX_SPACE = 100;
const SPACE = ' \t\n';
/** No reader can misunderstand the host. */
const CLEAR = /^https?:\/\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?(?:[/?#][^\\\s<>]*)?$/i;
/**
 * A path on our own host: no scheme and no second slash at its start, not even as an entity. Its first part has no dot,
 * because apps open `example.com` as a host.
 */
const PATH = /^(?:\/|\/[A-Za-z0-9][^\\]*|[#?][^\\]*|\.{1,2}\/[^\\:&]*|[^\\:&./#?][^\\:&./]*(?:[/#?][^\\:&]*)?|)$/;

/** An address in angle brackets that no reader takes for a tag. */
const IN_BRACKETS = /^https?:\/\/(?:[^\s\\@[\]&]|&(?![#a-z0-9]*;))*$/i;

function destinationOf(address: string, isOwn: IsOwn): Exclude<Destination, { kind: 'hold' }> {
  if (PATH.test(address)) return { kind: 'own' };
  const host = CLEAR.exec(address)?.[1];
  if (host === undefined) return { kind: 'unclear' };
  return isOwn(address) ? { kind: 'own' } : { kind: 'host', host: host.toLowerCase() };
}

/**
 * Length up to white space, or up to a parenthesis that closes none within the address; `unclear` if another link
 * begins in it.
 */
function lengthAt(source: string, at: number, isDefinition: boolean): number | 'unclear' {
  let depth = 0;
  let end = at;
  for (; end < source.length && end - at <= MAX_LENGTH; end += 1) {
    const character = source[end] ?? '';
    if (SPACE.includes(character)) break;
    if (isDefinition) continue;
    if (character === '(' && source[end - 1] === ']' && end > at) return 'unclear';
    if (character === '(') depth += 1;
    if (character === ')' && (depth -= 1) < 0) break;
  }
  return end - at > MAX_LENGTH ? 'unclear' : end - at;
}

/** Skips white space and quote marks first. Pure. */
export function destinationAt(source: string, from: number, { isLast, isOwn, isDefinition = false }: At): Destination {
  const space = /[\s>]*/y;
  space.lastIndex = from;
  space.exec(source);
  const at = space.lastIndex;
  if (at - from > MAX_SPACE) return { kind: 'unclear' };
  if (at === source.length) return { kind: isLast ? 'own' : 'hold' };
  if (source[at] === '<') {
    const close = source.slice(at + 1, at + 1 + MAX_LENGTH).search(/[<>\n]/);
    if (close === -1) return { kind: isLast || source.length - at > MAX_LENGTH ? 'unclear' : 'hold' };
    const address = source.slice(at + 1, at + 1 + close);
    return source[at + 1 + close] === '>' && IN_BRACKETS.test(address)
      ? destinationOf(address, isOwn)
      : { kind: 'unclear' };
  }
  const length = lengthAt(source, at, isDefinition);
  if (length === 'unclear') return { kind: 'unclear' };
  if (at + length === source.length && !isLast) return { kind: 'hold' };
  return destinationOf(source.slice(at, at + length), isOwn);
}
