import type { List, ListItem, PhrasingContent, RootContent, Table } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfmAutolinkLiteral } from 'micromark-extension-gfm-autolink-literal';
import { gfmStrikethrough } from 'micromark-extension-gfm-strikethrough';
import { gfmTable } from 'micromark-extension-gfm-table';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';

/** A run of text with one style. */
export interface Span {
  text: string;
  bold?: boolean;
  italic?: boolean;
  struck?: boolean;
  code?: boolean;
  /** Only http, https and mailto. */
  link?: string;
}

export interface Item {
  /** Undefined unless the item is a task. */
  checked: boolean | undefined;
  blocks: Block[];
}

export type Alignment = 'left' | 'center' | 'right';

export interface TableBlock {
  kind: 'table';
  align: Alignment[];
  /** The first row is the header. Each row has the same number of cells. */
  rows: Span[][][];
}

export type Block =
  | { kind: 'heading'; level: number; spans: Span[] }
  | { kind: 'paragraph'; spans: Span[] }
  | { kind: 'code'; lines: string[] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: Item[] }
  | { kind: 'rule' }
  | { kind: 'page-break' }
  | TableBlock;

const extensions = [gfmAutolinkLiteral(), gfmStrikethrough(), gfmTable(), gfmTaskListItem()];

const PAGE_BREAK = /^(?:<!--\s*page-?break\s*-->|\\(?:pagebreak|newpage))$/i;

/** Parses Markdown with GitHub's tables, task lists and bare addresses into blocks that Word and PDF have as well. */
export function blocksOf(text: string): Block[] {
  const tree = fromMarkdown(text, { extensions, mdastExtensions: [gfmFromMarkdown()] });
  const urls = new Map(
    tree.children.flatMap((node) => (node.type === 'definition' ? [[node.identifier, node.url]] : [])),
  );
  return tree.children.flatMap((node) => blockOf(node, urls));
}

export const plainText = (spans: readonly Span[]): string => spans.map(({ text }) => text).join('');

type Urls = ReadonlyMap<string, string>;

function blockOf(node: RootContent, urls: Urls): Block[] {
  switch (node.type) {
    case 'heading':
      return [{ kind: 'heading', level: node.depth, spans: spansOf(node.children, {}, urls) }];
    case 'paragraph': {
      const spans = spansOf(node.children, {}, urls);
      return [PAGE_BREAK.test(plainText(spans).trim()) ? { kind: 'page-break' } : { kind: 'paragraph', spans }];
    }
    case 'code':
      return [{ kind: 'code', lines: node.value.split('\n') }];
    case 'blockquote':
      return [{ kind: 'quote', blocks: node.children.flatMap((child) => blockOf(child, urls)) }];
    case 'list':
      return [listOf(node, urls)];
    case 'table':
      return [tableOf(node, urls)];
    case 'thematicBreak':
      return [{ kind: 'rule' }];
    case 'html': {
      if (PAGE_BREAK.test(node.value.trim())) return [{ kind: 'page-break' }];
      const spans = htmlSpans(node.value, {});
      return spans.length === 0 ? [] : [{ kind: 'paragraph', spans }];
    }
    default:
      return [];
  }
}

const listOf = ({ ordered, start, children }: List, urls: Urls): Block => ({
  kind: 'list',
  start: ordered === true ? (start ?? 1) : undefined,
  items: children.map(({ checked, children: blocks }: ListItem) => ({
    checked: checked ?? undefined,
    blocks: blocks.flatMap((child) => blockOf(child, urls)),
  })),
});

function tableOf({ align, children }: Table, urls: Urls): TableBlock {
  const columns = Math.max(...children.map((row) => row.children.length));
  const cells = Array.from({ length: columns }, (_, index) => index);
  return {
    kind: 'table',
    align: cells.map((index) => align?.[index] ?? 'left'),
    rows: children.map((row) => cells.map((index) => spansOf(row.children[index]?.children ?? [], {}, urls))),
  };
}

type Style = Omit<Span, 'text'>;

function spansOf(nodes: readonly PhrasingContent[], style: Style, urls: Urls): Span[] {
  return nodes.flatMap((node): Span[] => {
    switch (node.type) {
      case 'text':
        // A line break in Markdown's source is a space.
        return [{ ...style, text: node.value.replaceAll('\n', ' ') }];
      case 'inlineCode':
        return [{ ...style, text: node.value, code: true }];
      case 'break':
        return [{ ...style, text: '\n' }];
      case 'strong':
        return spansOf(node.children, { ...style, bold: true }, urls);
      case 'emphasis':
        return spansOf(node.children, { ...style, italic: true }, urls);
      case 'delete':
        return spansOf(node.children, { ...style, struck: true }, urls);
      case 'link':
        return spansOf(node.children, linked(style, node.url), urls);
      case 'linkReference':
        return spansOf(node.children, linked(style, urls.get(node.identifier)), urls);
      // Nothing is loaded while a file is written.
      case 'image':
        return [{ ...linked(style, node.url), text: node.alt || 'Image' }];
      case 'imageReference':
        return [{ ...linked(style, urls.get(node.identifier)), text: node.alt || 'Image' }];
      case 'html':
        return htmlSpans(node.value, style);
      default:
        return [];
    }
  });
}

/** Tags stay visible as text, except line breaks and comments. */
function htmlSpans(html: string, style: Style): Span[] {
  const text = html.replaceAll(/<!--.*?-->/gs, '').replaceAll(/<br\s*\/?>/gi, '\n');
  return text.trim() === '' && !text.includes('\n') ? [] : [{ ...style, text }];
}

function linked(style: Style, url: string | undefined): Style {
  const { protocol } = URL.parse(url ?? '') ?? {};
  return url !== undefined && /^(?:https?|mailto):$/.test(protocol ?? '') ? { ...style, link: url } : style;
}
