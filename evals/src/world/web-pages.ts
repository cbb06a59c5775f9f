import { Readable } from 'node:stream';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import type { WorldPage, WorldWebPage } from '../tasks/task.js';
import { textOf } from './text-of.js';

/** The web of one run, as the page reader requests it. */
export interface WebPages extends Pick<Outgoing, 'request'> {
  /** Requested addresses without robots files, oldest first. */
  opened: readonly string[];
}

interface Answer {
  status: number;
  type: string;
  body: string;
  location?: string;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

const document = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><title>${escaped(title)}</title></head><body><main>${body}</main></body></html>`;

const paragraphs = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${escaped(paragraph)}</p>`)
    .join('');

function answerOf({ url, title, status, redirect, html, ...text }: WorldWebPage): Answer {
  const isText = new URL(url).pathname.endsWith('.txt');
  if (redirect !== undefined) return { status: 302, type: 'text/plain', body: '', location: redirect };
  if (isText) return { status, type: 'text/plain; charset=utf-8', body: textOf(text) };
  return { status, type: 'text/html; charset=utf-8', body: document(title, html ?? paragraphs(textOf(text, '\n\n'))) };
}

const NOT_FOUND: Answer = { status: 404, type: 'text/html', body: document('Not found', '<p>Not found</p>') };

/**
 * Serves a world's pages. Pages that the search finds exist, too: with the found text, unless the world has another one.
 * Other addresses on their hosts are not found, and other hosts do not exist.
 */
export function createWebPages(pages: readonly WorldWebPage[], found: readonly WorldPage[]): WebPages {
  const answers = new Map<string, Answer>();
  for (const { url, title, text } of found)
    answers.set(new URL(url).href, { status: 200, type: 'text/html', body: document(title, paragraphs(text)) });
  for (const page of pages) answers.set(new URL(page.url).href, answerOf(page));
  const hosts = new Set([...answers.keys()].map((url) => new URL(url).host));
  const opened: string[] = [];

  return {
    opened,
    async request(address) {
      const url = new URL(address);
      url.hash = '';
      if (url.pathname !== '/robots.txt') opened.push(url.href);
      if (!hosts.has(url.host)) throw Object.assign(new Error('the host does not exist'), { code: 'ENOTFOUND' });
      const { status, type, body, location } = answers.get(url.href) ?? NOT_FOUND;
      const response = {
        statusCode: status,
        headers: { 'content-type': type, ...(location === undefined ? {} : { location }) },
        body: Readable.from([Buffer.from(body)]),
      };
      return response as unknown as Awaited<ReturnType<Outgoing['request']>>;
    },
  };
}
