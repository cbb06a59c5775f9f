import { startDeadline } from '@uswarm/service-kit';
import { createOutgoing, DIRECT, type Outgoing, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import { createExtraction, type Extract, type ExtractedPage, MAX_TEXT } from './page-extraction.js';
import { cleanLines, cleanText } from '../untrusted-text.js';
import { PageError } from './page-error.js';
import { partsOf } from './page-parts.js';
import { checkAddress, discard, type PageRequestRules, readBody, requestPage } from './page-request.js';
import { decoded, kindOf, type PageKind, sniffedKind } from './page-type.js';
import { createPdfReader, type PdfReader } from './pdf-reader.js';
import { createRobots } from './robots.js';

/** Milliseconds for all requests per page. */
const REQUEST_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_PDF_BYTES = 10 * 1024 * 1024;
/** Characters of a media type with its parameters that are parsed. */
const MAX_TYPE = 300;
const MAX_FIELD = 300;
const MAX_LANGUAGE = 20;

/** A page's later parts are usually read soon after the first. */
const KEPT_MS = 5 * 60_000;
const MAX_KEPT = 16;

/** Unchecked arguments from a model. */
export interface PageArguments {
  url?: unknown;
  part?: unknown;
}

/** Contains texts that others wrote. */
export interface Page {
  status: 'ok';
  /** After redirects. */
  url: string;
  title: string;
  author: string;
  site: string;
  /** As the page names it. */
  published: string;
  language: string;
  /** From 1. */
  part: number;
  parts: number;
  /** Absent for the last part. */
  next?: number;
  markdown: string;
  notes: string[];
}

export interface PageOptions {
  signal?: AbortSignal | undefined;
  /** Pages are kept for a while per reader. Default: they are not kept. */
  reader?: string | undefined;
}

export interface PageReader {
  /** @throws PageError */
  readPage(args: PageArguments, options?: PageOptions): Promise<Page>;
  /** Ends the processes that read PDF files. */
  close(): Promise<void>;
}

export interface PageReaderDeps {
  outgoing: Pick<Outgoing, 'request'>;
  /** Hosts inside the network that may be read, also on other ports. */
  privateHosts?: readonly string[];
  extract?: Extract;
  /** Closed with the page reader. */
  pdf?: PdfReader;
  requestMs?: number;
  maxBytes?: number;
  maxPdfBytes?: number;
}

/** Connects to public addresses only, and to these hosts inside the network. */
export const createPageOutgoing = (proxy: OutgoingProxy = DIRECT, privateHosts: readonly string[] = []): Outgoing =>
  createOutgoing(proxy, { connectMs: 5_000, publicExcept: privateHosts });

interface ReadDocument extends ExtractedPage {
  url: string;
  parts: string[];
}

function checkPart(part: unknown): number {
  if (part === undefined || part === null) return 1;
  // Models write numbers also as text.
  const number = typeof part === 'string' && /^\d{1,9}$/.test(part.trim()) ? Number(part) : part;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 1)
    throw new PageError('invalid_argument', 'part must be a whole number from 1');
  return number;
}

const REASONS: Record<number, string> = {
  401: ' (it requires a login)',
  403: ' (it refuses this request)',
  404: ' (page not found)',
  410: ' (the page was removed)',
  429: ' (too many requests; try again later)',
};

export function createPageReader(deps: PageReaderDeps): PageReader {
  const { privateHosts = [], extract = createExtraction(), pdf = createPdfReader(), requestMs = REQUEST_MS } = deps;
  const { maxBytes = MAX_BYTES, maxPdfBytes = MAX_PDF_BYTES } = deps;
  const rules: PageRequestRules = { outgoing: deps.outgoing, privateHosts };
  const robots = createRobots(rules);
  const kept = new Map<string, { document: ReadDocument; until: number }>();

  /** @throws PageError */
  async function download(start: URL, signal: AbortSignal) {
    const response = await requestPage(start, rules, (url) => robots.check(url, signal), signal);
    const { url, status, headers } = response;
    try {
      if (status < 200 || status > 299)
        throw new PageError('bad_status', `${url.hostname} returned status ${status}${REASONS[status] ?? ''}`);
      const contentType = String(headers['content-type'] ?? '').slice(0, MAX_TYPE);
      const named = kindOf(contentType);
      const bytes = await readBody(response, named === 'pdf' || named === 'unknown' ? maxPdfBytes : maxBytes);
      return { url, bytes, contentType, kind: named === 'unknown' ? sniffedKind(bytes) : named };
    } finally {
      discard(response.body);
    }
  }

  async function downloadInTime(start: URL, cancel: AbortSignal | undefined) {
    const deadline = startDeadline(requestMs, cancel);
    try {
      return await download(start, deadline.signal);
    } catch (error) {
      if (cancel?.aborted === true) throw new PageError('cancelled', 'reading was cancelled', error);
      if (deadline.expired())
        throw new PageError('timeout', `${start.hostname} did not send the page within ${requestMs / 1_000} s`, error);
      throw error;
    } finally {
      deadline.end();
    }
  }

  async function toDocument(
    { url, bytes, contentType, kind }: { url: URL; bytes: Buffer; contentType: string; kind: PageKind },
    signal: AbortSignal | undefined,
  ): Promise<ExtractedPage> {
    if (kind === 'pdf') return await pdf.read(bytes, signal);
    const text = decoded(bytes, contentType);
    if (kind === 'html') return await extract({ html: text, url: url.href }, signal);
    const none = { title: '', author: '', site: '', published: '', language: '' };
    return { ...none, markdown: text.slice(0, MAX_TEXT), isCut: text.length > MAX_TEXT };
  }

  async function read(start: URL, signal: AbortSignal | undefined): Promise<ReadDocument> {
    const downloaded = await downloadInTime(start, signal);
    const extracted = await toDocument(downloaded, signal);
    const markdown = cleanLines(extracted.markdown);
    if (markdown === '') throw new PageError('empty', whyEmpty(downloaded.kind, extracted.hint));
    return { ...extracted, markdown, url: downloaded.url.href, parts: partsOf(markdown) };
  }

  function keep(key: string, document: ReadDocument): void {
    kept.delete(key);
    kept.set(key, { document, until: performance.now() + KEPT_MS });
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }

  return {
    async readPage(args, { signal, reader } = {}) {
      const start = checkAddress(args.url, { privateHosts });
      const part = checkPart(args.part);
      const key = `${reader} ${start.href}`;
      const found = part > 1 && reader !== undefined ? kept.get(key) : undefined;
      const isKept = found !== undefined && found.until > performance.now();
      const document = isKept ? found.document : await read(start, signal);
      if (!isKept && reader !== undefined && document.parts.length > 1) keep(key, document);
      return pageOf(document, part);
    },

    close: () => pdf.close(),
  };
}

function whyEmpty(kind: PageKind, hint: ExtractedPage['hint']): string {
  if (typeof hint === 'object') return `the page has no text; it only forwards to ${hint.forwardsTo}`;
  if (hint === 'script') return 'the page has no text without JavaScript, which is not run';
  return kind === 'pdf' ? 'the PDF file has no text, perhaps only pictures' : 'the page has no text';
}

/** @throws PageError `invalid_argument` for a part that does not exist */
function pageOf(document: ReadDocument, part: number): Page {
  const { parts, isCut, url } = document;
  const markdown = parts[part - 1];
  if (markdown === undefined)
    throw new PageError('invalid_argument', `the page has no part ${part}, only ${parts.length}`);
  return {
    status: 'ok',
    url,
    title: cleanText(document.title, MAX_FIELD),
    author: cleanText(document.author, MAX_FIELD),
    site: cleanText(document.site, MAX_FIELD),
    published: cleanText(document.published, MAX_FIELD),
    language: cleanText(document.language, MAX_LANGUAGE),
    part,
    parts: parts.length,
    ...(part < parts.length ? { next: part + 1 } : {}),
    markdown,
    notes: isCut ? ['The page is longer; its end was left out.'] : [],
  };
}
