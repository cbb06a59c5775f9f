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
