/** Whether an absolute address is of our own host. */
export type IsOwn = (address: string) => boolean;

/**
 * Where a link leads. `own`: to our own host, or nowhere else; `host`: to this other host; `unclear`: readers can disagree about
 * the host; `hold`: it depends on characters that are not known yet.
 */
export type Destination = { kind: 'own' } | { kind: 'host'; host: string } | { kind: 'unclear' } | { kind: 'hold' };

interface At {
  /** Whether the source ends here. */
  isLast: boolean;
  isOwn: IsOwn;
  /** Whether it is the address of a reference, which ends with white space. */
  isDefinition?: boolean;
}

const MAX_LENGTH = 2_048;
const MAX_SPACE = 100;
const SPACE = ' \t\n';
/** An address whose host no reader can misunderstand. */
const CLEAR = /^https?:\/\/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::\d{1,5})?(?:[/?#][^\\\s<>]*)?$/i;
/**
 * A path on our own host: no scheme, no second slash at its start, also not as an entity, and no dot in its first part, because apps
 * open `example.com` as a host.
 */
const PATH = /^(?:\/|\/[A-Za-z0-9][^\\]*|[#?][^\\]*|\.{1,2}\/[^\\:&]*|[^\\:&./#?][^\\:&./]*(?:[/#?][^\\:&]*)?|)$/;

/** An address in angle brackets that is not also a tag. */
const IN_BRACKETS = /^https?:\/\/(?:[^\s\\@[\]&]|&(?![#a-z0-9]*;))*$/i;

/** Where an address leads. Pure. */
function destinationOf(address: string, isOwn: IsOwn): Exclude<Destination, { kind: 'hold' }> {
  if (PATH.test(address)) return { kind: 'own' };
  const host = CLEAR.exec(address)?.[1];
  if (host === undefined) return { kind: 'unclear' };
  return isOwn(address) ? { kind: 'own' } : { kind: 'host', host: host.toLowerCase() };
}

/**
 * The length of an address that ends with white space, or with a parenthesis that closes none in it; `unclear` if another link
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

/** Where the address at a position leads, after white space and the marks of quotes. Pure. */
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
