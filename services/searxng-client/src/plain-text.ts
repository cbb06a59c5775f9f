import { decodeHTMLStrict } from 'entities/decode';

/** Rounds of decoding. Engines encode twice, and a third time if they quote another engine. */
const MAX_ROUNDS = 3;

/** Elements that separate words. The others are within a word or a line. */
const BLOCKS = new Set(
  'article blockquote br dd div dl dt figcaption h1 h2 h3 h4 h5 h6 hr li ol p pre section table tbody td th thead tr ul'.split(
    ' ',
  ),
);
/** Elements without an end tag. */
const VOID = new Set(['br', 'hr', 'img', 'wbr']);
const INLINE =
  'a abbr b bdi big center cite code del em font highlight hl hlword i ins kbd label mark nobr q s samp small span strike strong sub sup time tt u var';
const NAMES = [...BLOCKS, ...VOID, ...INLINE.split(' ')].join('|');
/** An attribute needs a value: `a <b c> d` has no tag. */
const ATTRIBUTE = String.raw`\s+[\w:-]+=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)`;
const TAG = new RegExp(String.raw`<(?<slash>/?)(?<name>${NAMES})(?:${ATTRIBUTE})*\s?/?>`, 'giu');

/** A reference whose semicolon is missing, as in `It&#39s` and `Tom &amp Jerry`. */
const OPEN_REFERENCE = /&#(?:\d+(?![\d;])|x[\da-f]+(?![\da-f;]))|&(?:amp|nbsp|quot)(?=\s|$)/giu;

/** Microsoft's highlight marks, comments, and CDATA sections. */
const MARKS = /[\uE000\uE001]|<!--[^]*?-->|<!\[CDATA\[(?<text>[^]*?)\]\]>/gu;

interface Tag {
  name: string;
  closes: boolean;
  /** `<br/>`, which people do not write about. */
  closesItself: boolean;
  hasAttributes: boolean;
  start: number;
  end: number;
}

/**
 * Converts a web page excerpt to the text that a browser shows: removes highlights, paragraphs and other markup, and
 * decodes entities, even if they were encoded twice. Anything else in angle brackets is content, such as `a < b`,
 * `List<String>` and `the <b> tag`.
 */
export function plainText(html: string): string {
  let text = html.replaceAll(MARKS, '$<text>');
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const decoded = decodeHTMLStrict(withoutTags(text).replaceAll(OPEN_REFERENCE, '$&;'));
    if (decoded === text) return text;
    text = decoded;
  }
  return withoutTags(text);
}

function withoutTags(text: string): string {
  const tags = [...text.matchAll(TAG)].map(({ 0: whole, index, groups }): Tag => ({
    name: (groups?.['name'] ?? '').toLowerCase(),
    closes: groups?.['slash'] === '/',
    closesItself: whole.endsWith('/>'),
    hasAttributes: whole.includes('='),
    start: index,
    end: index + whole.length,
  }));
  if (tags.length === 0) return text;
  const paired = pairsOf(tags, text);
  let result = '';
  let position = 0;
  for (const tag of tags) {
    if (!paired.has(tag) && !touchesWord(tag, text)) continue;
    result += text.slice(position, tag.start) + (BLOCKS.has(tag.name) ? ' ' : '');
    position = tag.end;
  }
  return result + text.slice(position);
}

/** Tags with their end tags. Type parameters such as `Array<b>` have none; `from <b> to </b>` speaks about tags. */
function pairsOf(tags: readonly Tag[], text: string): Set<Tag> {
  const paired = new Set<Tag>();
  const open = new Map<string, Tag[]>();
  for (const tag of tags) {
    const waiting = open.get(tag.name) ?? [];
    open.set(tag.name, waiting);
    if (!tag.closes) {
      waiting.push(tag);
      continue;
    }
    const start = waiting.pop();
    if (start === undefined) continue;
    const standsAlone = /^\s$/.test(text.charAt(start.end)) && /^\s$/.test(text.charAt(tag.start - 1));
    if (!standsAlone) paired.add(start).add(tag);
  }
  return paired;
}

/**
 * An engine may cut off one tag in a pair. The other one touches only the word that it marks; `the <b> tag` and
 * `Array<b>` are content.
 */
function touchesWord({ name, closes, closesItself, hasAttributes, start, end }: Tag, text: string): boolean {
  const isWord = (character: string): boolean => /[\p{L}\p{N}]/u.test(character);
  const [before, after] = [isWord(text.slice(0, start).at(-1) ?? ''), isWord(text.slice(end, end + 1))];
  if (VOID.has(name)) return closesItself || hasAttributes || before || after;
  return closes ? before && !after : after && !before;
}
