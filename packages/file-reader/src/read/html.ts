import { convert, type HtmlToTextOptions } from 'html-to-text';

const options: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: 300, maxChildNodes: 200_000, maxInputLength: 1 << 24 },
  selectors: [
    { selector: 'a', options: { ignoreHref: true } },
    { selector: 'img', format: 'skip' },
    ...['head', 'title', 'script', 'style', 'noscript', 'template', 'svg', 'nav'].map((selector) => ({
      selector,
      format: 'skip',
    })),
    { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false, maxColumnWidth: 60 } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
};

/** Leaves out scripts, styles and pictures. */
export function htmlToText(html: string): string {
  return convert(html, options).trim();
}

export function htmlTitle(html: string): string | undefined {
  const title = /<title[^>]{0,1000}>([^<]{1,500})<\/title>/i.exec(html.slice(0, 100_000))?.[1];
  return title === undefined ? undefined : convert(title, { wordwrap: false }).trim();
}
