// Converts one untrusted web page to Markdown, in a separate thread: see pages/page-extraction.ts. It imports only packages, so
// that Node.js can run this file also as TypeScript.
import { parentPort, workerData } from 'node:worker_threads';
import { tables } from '@joplin/turndown-plugin-gfm';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import TurndownService from 'turndown';

/** Kept characters. A longer document is cut. */
const MAX_TEXT = 600_000;
/** Elements up to which Readability is fast enough. */
const MAX_READABLE = 12_000;
/** Elements that are parsed. A longer page is cut. */
const MAX_ELEMENTS = 30_000;
/** Elements within each other. Parsers need time that grows with the square of it. */
const MAX_DEPTH = 500;
const MAX_LINKS = 10_000;
const MAX_LINK_LENGTH = 500;

interface Input {
  html: string;
  url: string;
}

interface Extracted {
  title: string;
  author: string;
  site: string;
  published: string;
  language: string;
  markdown: string;
  /** True if the document is longer than what is kept. */
  isCut: boolean;
  /** Why the text can be missing. */
  hint?: 'script' | { forwardsTo: string };
}

/** The used part of the DOM. The library's types would be global in this service. */
interface Element {
  tagName: string;
  textContent: string | null;
  innerHTML: string;
  getAttribute(name: string): string | null;
  remove(): void;
}
interface Document {
  documentElement: Element | null;
  body: Element;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
}
const parse = (html: string): Document => parseHTML(html).document as unknown as Document;

class TooComplex extends Error {}

const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
/** Elements whose end tag is optional: without it, the next one does not begin within them. */
const OPEN_END = new Set(
  'p li dt dd tr td th thead tbody tfoot option optgroup colgroup rp rt html head body'.split(' '),
);

/** Pictures in attributes, and other values that no text needs. */
const LONG_ATTRIBUTE = /\s[\w:-]+\s*=\s*(?:"[^"]{2000,}"|'[^']{2000,}')/g;

/** Cuts a page that has too many elements, by its tags alone. @throws TooComplex */
function bounded(page: string): { html: string; elements: number } {
  const html = page.replaceAll(LONG_ATTRIBUTE, '');
  let depth = 0;
  let elements = 0;
  for (const { 0: _, 1: slash, 2: name = '', index } of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    const tag = name.toLowerCase();
    const nests = !VOID.has(tag) && !OPEN_END.has(tag);
    if (nests) depth = Math.max(0, depth + (slash === '/' ? -1 : 1));
    if (slash !== '/') elements += 1;
    if (depth > MAX_DEPTH) throw new TooComplex();
    if (elements > MAX_ELEMENTS) return { html: html.slice(0, index), elements };
  }
  return { html, elements };
}

/** @returns undefined for an address that is of no use to a reader */
function absolute(address: string | null, base: string): string | undefined {
  const url = address === null ? null : URL.parse(address.trim(), base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  return url.href.length <= MAX_LINK_LENGTH ? url.href : undefined;
}

function createConverter(base: string): TurndownService {
  const converter = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  let links = 0;
  converter.use(tables);
  // The rules for tables read the rows once per row, and the DOM collects them at each access: quadratic time.
  converter.addRule('rows', {
    filter(node) {
      const table = /^T[DHR]$/.test(node.nodeName) ? node.closest('table') : null;
      if (table !== null && !Object.hasOwn(table, 'rows'))
        Object.defineProperty(table, 'rows', { value: Array.from(table.rows) });
      return false;
    },
  });
  converter.addRule('link', {
    filter: 'a',
    replacement(content, node) {
      const text = content.replace(/\s+/g, ' ').trim();
      const href = absolute((node as unknown as Element).getAttribute('href'), base);
      if (href === undefined || text === '' || (links += 1) > MAX_LINKS) return content;
      return `[${text}](${href.replace(/[()]/g, (mark) => (mark === '(' ? '%28' : '%29'))})`;
    },
  });
  // Only what an image shows, because its address is not opened.
  converter.addRule('image', {
    filter: 'img',
    replacement(_content, node) {
      const alt = ((node as unknown as Element).getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim().slice(0, 200);
      return alt === '' ? '' : `[image: ${alt.replaceAll(/[[\]]/g, '')}]`;
    },
  });
  return converter;
}

const SKIPPED =
  'script,style,noscript,template,nav,header,footer,aside,form,iframe,object,embed,svg,canvas,[hidden],[aria-hidden="true"],[style*="display:none"],[style*="display: none"],[style*="visibility:hidden"]';

/** Parses a document, or a document's body. */
function parsed(html: string): Document {
  const document = parse(html);
  const isDocument = document.documentElement?.tagName === 'HTML' && document.querySelector('body') !== null;
  return isDocument
    ? document
    : parse(
        `<!doctype html><html><head></head><body>${html.replaceAll(/<\/?(?:html|body|head)\b[^>]*>/gi, '')}</body></html>`,
      );
}

const meta = (document: Document, ...names: string[]): string =>
  names
    .map((name) => document.querySelector(`meta[name="${name}"],meta[property="${name}"]`)?.getAttribute('content'))
    .find((content) => content !== undefined && content !== null && content.trim() !== '') ?? '';

function hintOf(document: Document, base: string): Pick<Extracted, 'hint'> {
  const refresh = document.querySelector('meta[http-equiv="refresh" i]')?.getAttribute('content');
  const target = refresh && /url\s*=\s*['"]?([^'"\s]+)/i.exec(refresh)?.[1];
  const forwardsTo = target ? absolute(target, base) : undefined;
  if (forwardsTo !== undefined) return { hint: { forwardsTo } };
  return document.querySelector('script') === null ? {} : { hint: 'script' };
}

function extractHtml(page: string, url: string): Extracted {
  const { html, elements } = bounded(page);
  const document = parsed(html);
  const about = {
    title: meta(document, 'og:title') || (document.querySelector('title')?.textContent ?? ''),
    author: meta(document, 'author', 'article:author', 'dc.creator'),
    site: meta(document, 'og:site_name', 'application-name'),
    published: meta(document, 'article:published_time', 'date', 'dc.date', 'datePublished'),
    language: document.documentElement?.getAttribute('lang') ?? '',
    ...hintOf(document, url),
  };
  const base = absolute(document.querySelector('base')?.getAttribute('href') ?? null, url) ?? url;
  const readable = elements <= MAX_READABLE ? readableOf(html) : null;
  const content = readable?.content ?? restOf(document);
  const markdown = createConverter(base)
    .turndown(content.slice(0, 4 * MAX_TEXT))
    .trim();
  return {
    ...about,
    title: readable?.title || about.title,
    author: readable?.byline || about.author,
    site: readable?.siteName || about.site,
    published: readable?.publishedTime || about.published,
    markdown: markdown.slice(0, MAX_TEXT),
    isCut: elements > MAX_ELEMENTS || markdown.length > MAX_TEXT || content.length > 4 * MAX_TEXT,
  };
}

/** Needs its own parse, because Readability changes the document. @returns null if there is no article */
function readableOf(html: string) {
  try {
    const article = new Readability(parsed(html) as never, { charThreshold: 200 }).parse();
    const isWhole = (article?.textContent ?? '').trim() !== '';
    return article !== null && isWhole ? { ...article, content: article.content ?? '' } : null;
  } catch {
    return null;
  }
}

function restOf(document: Document): string {
  for (const element of document.querySelectorAll(SKIPPED)) element.remove();
  const main = document.querySelector('main') ?? document.body;
  return main.innerHTML;
}

const input = workerData as Input;
const answer = (message: object): void => {
  // A thread has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message);
};
try {
  answer({ extracted: extractHtml(input.html, input.url) });
} catch (error) {
  answer({ failed: error instanceof TooComplex ? 'complex' : 'malformed' });
}
