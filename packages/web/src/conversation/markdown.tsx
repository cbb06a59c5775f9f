import { memo, type ReactNode } from 'react';
import { allowEntities } from './entities.js';
import { allowedUrl, targetBeside } from './links.js';
import { contentOf, type MarkdownNode, plainTextOf, treeOf } from './markdown-tree.js';
import { blocksOf, isParsable, visibleText } from './visible-text.js';

/** Heading level above the text. */
export type Above = 'h1' | 'h2';

allowEntities();

/** Agents' Markdown is untrusted: HTML stays text, and nothing is loaded. */
export default function Markdown({ text, above = 'h2' }: { text: string; above?: Above }) {
  return blocksOf(visibleText(text)).map((block, index) => <Block key={index} text={block} above={above} />);
}

/** Memoized, so that finished blocks are neither checked nor parsed again with each chunk. */
const Block = memo(function Block({ text, above }: { text: string; above: Above }) {
  if (isParsable(text)) return <Nodes nodes={treeOf(text)} above={above} />;
  return (
    <pre tabIndex={0} aria-label="Source">
      {text}
    </pre>
  );
});

const Nodes = ({ nodes, above }: { nodes: readonly MarkdownNode[]; above: Above }) =>
  nodes.map((node, index) => <Node key={index} node={node} above={above} />);

/** Unlisted node types show their content. */
function Node({ node, above }: { node: MarkdownNode; above: Above }): ReactNode {
  const inside = 'children' in node && <Nodes nodes={node.children} above={above} />;
  switch (node.type) {
    case 'text':
    case 'html':
      return node.value;
    case 'paragraph':
      return <p>{inside}</p>;
    case 'heading': {
      // Message headings are below the author's heading, document headings below the title.
      const Heading = `h${Math.min(6, node.depth + (above === 'h1' ? 1 : 2))}` as 'h2';
      return <Heading>{inside}</Heading>;
    }
    case 'emphasis':
      return <em>{inside}</em>;
    case 'strong':
      return <strong>{inside}</strong>;
    case 'delete':
      return <del>{inside}</del>;
    case 'inlineCode':
      return <code>{node.value}</code>;
    case 'code':
      return (
        <pre tabIndex={0} aria-label="Code">
          <code>{node.value}</code>
        </pre>
      );
    case 'blockquote':
      return <blockquote>{inside}</blockquote>;
    case 'list':
      return node.ordered ? <ol start={node.start ?? 1}>{inside}</ol> : <ul>{inside}</ul>;
    case 'listItem':
      return <ListItem node={node} above={above} />;
    case 'break':
      return <br />;
    case 'thematicBreak':
      return <hr />;
    case 'link':
      return (
        <Link url={node.url} plain={plainTextOf(node)}>
          {inside}
        </Link>
      );
    // Loading a picture would tell its host who reads the message.
    case 'image':
      return <Link url={node.url}>Picture: {node.alt || 'without a name'}</Link>;
    case 'table':
      return <Table node={node} above={above} />;
    default:
      return inside;
  }
}

function Link({ url, plain = '', children }: { url: string; plain?: string; children: ReactNode }) {
  const href = allowedUrl(url);
  if (href === '') return <span>{children}</span>;
  const target = targetBeside(plain, href);
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
      {target !== '' && <small> ({target})</small>}
    </a>
  );
}

type Of<Type> = { node: Extract<MarkdownNode, { type: Type }>; above: Above };

function ListItem({ node, above }: Of<'listItem'>) {
  const mark = { true: '☑ ', false: '☐ ', null: '' }[`${node.checked ?? null}`];
  return (
    <li>
      {mark}
      <Nodes nodes={contentOf(node)} above={above} />
    </li>
  );
}

function Table({ node, above }: Of<'table'>) {
  return (
    <div role="group" aria-label="Table" tabIndex={0} data-scroll>
      <table>
        <tbody>
          {node.children.map(({ children: cells }, row) => (
            <tr key={row}>
              {cells.map(({ children }, column) => {
                const Cell = row === 0 ? 'th' : 'td';
                const align = node.align?.[column];
                return (
                  <Cell key={column} style={align ? { textAlign: align } : undefined}>
                    <Nodes nodes={children} above={above} />
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
