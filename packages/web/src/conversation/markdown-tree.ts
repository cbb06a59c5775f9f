import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfmAutolinkLiteral } from 'micromark-extension-gfm-autolink-literal';
import { gfmStrikethrough } from 'micromark-extension-gfm-strikethrough';
import { gfmTable } from 'micromark-extension-gfm-table';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';

export type MarkdownNode = ReturnType<typeof fromMarkdown>['children'][number];

const extensions = [gfmAutolinkLiteral(), gfmStrikethrough(), gfmTable(), gfmTaskListItem()];

/** Includes GitHub's tables, task lists and bare addresses. */
export function treeOf(text: string): MarkdownNode[] {
  const tree = fromMarkdown(text, { extensions, mdastExtensions: [gfmFromMarkdown()] });
  return withLinks(tree.children, new Map(tree.children.flatMap((node) => definition(node))));
}

const definition = (node: MarkdownNode): [name: string, url: string][] =>
  node.type === 'definition' ? [[node.identifier, node.url]] : [];

/** Resolves links that name an address defined below the text. */
function withLinks(nodes: readonly MarkdownNode[], urls: ReadonlyMap<string, string>): MarkdownNode[] {
  return nodes.map((node): MarkdownNode => {
    const inside = 'children' in node ? { children: withLinks(node.children, urls) } : {};
    if (node.type === 'linkReference')
      return { ...node, ...inside, type: 'link', url: urls.get(node.identifier) ?? '' } as MarkdownNode;
    if (node.type === 'imageReference') return { ...node, type: 'image', url: urls.get(node.identifier) ?? '' };
    return { ...node, ...inside } as MarkdownNode;
  });
}

/** @returns the text if the node contains nothing else */
export const plainTextOf = ({ children }: { children: readonly MarkdownNode[] }): string =>
  children.map((child) => (child.type === 'text' ? child.value : '\0')).join('');

/** List items without blank lines have no paragraphs. */
export const contentOf = ({ spread, children }: Extract<MarkdownNode, { type: 'listItem' }>): MarkdownNode[] =>
  spread
    ? children
    : children.flatMap((child): MarkdownNode[] => (child.type === 'paragraph' ? child.children : [child]));
