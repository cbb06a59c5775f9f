import { memo, type ReactNode } from 'react';
import ReactMarkdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { blocksOf, visibleText } from './visible-text.js';

/** The level of the heading above a text. */
export type Above = 'h1' | 'h2';

const plugins = [remarkGfm];
/** Only `https:` and `mailto:` addresses become links. */
const allowedUrl = (url: string): string => (/^(?:https:|mailto:)/i.test(url) ? url : '');
const hostOf = (url: string): string => URL.parse(url)?.host ?? '';

/** The text of children that have no elements in them. */
const textOf = (children: ReactNode): string =>
  Array.isArray(children) ? children.map(textOf).join('') : typeof children === 'string' ? children : '';

const components: Components = {
  a: ({ href, children }) => <Link href={href ?? ''}>{children}</Link>,
  // A picture of another host would tell it who reads the message.
  img: ({ src, alt }) => (
    <Link href={allowedUrl(typeof src === 'string' ? src : '')}>Picture: {alt || 'without a name'}</Link>
  ),
  table: ({ children }) => (
    <div role="region" aria-label="Table" tabIndex={0} data-scroll>
      <table>{children}</table>
    </div>
  ),
  pre: ({ children }) => (
    <pre tabIndex={0} aria-label="Code">
      {children}
    </pre>
  ),
};
/** The headings of a message are below that of its author, those of a document below its title. */
const below: Readonly<Record<Above, Components>> = {
  h1: { ...components, h1: 'h2', h2: 'h3', h3: 'h4' },
  h2: { ...components, h1: 'h3', h2: 'h4', h3: 'h5' },
};

/** Shows the host unless the text is the address: a text that only contains it can look like another host. */
function Link({ href, children }: { href: string; children: ReactNode }) {
  if (href === '') return <span>{children}</span>;
  const host = hostOf(href);
  const isShown = [href, host, href.replace(/^https:\/\//i, ''), href.replace(/^mailto:/i, '')].includes(
    textOf(children),
  );
  return (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
      {host !== '' && !isShown && <small> ({host})</small>}
    </a>
  );
}

const Block = memo(function Block({ text, above }: { text: string; above: Above }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={below[above]} urlTransform={allowedUrl}>
      {text}
    </ReactMarkdown>
  );
});

/** Markdown of agents, which nobody has checked: HTML stays text, and nothing is loaded. */
export default function Markdown({ text, above = 'h2' }: { text: string; above?: Above }) {
  return blocksOf(visibleText(text)).map((block, index) => <Block key={index} text={block} above={above} />);
}
