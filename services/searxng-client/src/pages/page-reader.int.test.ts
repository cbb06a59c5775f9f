import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { page, type PageServer, pdfBomb, pdfOf, redirect, startPageServer } from '../../test/page-server.js';
import { createExtraction } from './page-extraction.js';
import { createPageOutgoing, createPageReader, type PageReaderDeps } from './page-reader.js';
import { MAX_PART } from './page-parts.js';
import { createPdfReader } from './pdf-reader.js';

const PRIVATE = ['127.0.0.1'];
/** Compiled, because a process cannot run the sources. */
const PROGRAM = new URL('../../../../packages/file-reader/dist/program.js', import.meta.url);
const MIB = 1024 * 1024;
const words = 'A sentence about prices of tea, which is long enough to be part of an article. '.repeat(8);
const article = (content: string, head = '<title>Prices</title>') =>
  `<!doctype html><html lang="en"><head>${head}</head><body><nav>Menu</nav><article><p>${words}</p>${content}</article></body></html>`;

let server: PageServer;
let cleanup: AsyncDisposableStack;
beforeEach(async () => {
  cleanup = new AsyncDisposableStack();
  server = cleanup.use(await startPageServer());
});
afterEach(() => cleanup.disposeAsync());

function readerOf(deps: Partial<PageReaderDeps> = {}, connectTo = PRIVATE) {
  const outgoing = createPageOutgoing(undefined, connectTo);
  cleanup.defer(() => outgoing.destroy());
  const reader = createPageReader({
    outgoing,
    privateHosts: PRIVATE,
    pdf: createPdfReader({ program: PROGRAM }),
    ...deps,
  });
  cleanup.defer(() => reader.close());
  return reader;
}

/** Serves the answer at `/p`, and reads it. */
async function read(answer: PageServer['pages'][string], deps: Partial<PageReaderDeps> = {}, path = '/p') {
  server.pages['/p'] = answer;
  return readerOf(deps).readPage({ url: server.url + path });
}

const codeOf = (reading: Promise<unknown>) =>
  reading.then(
    () => ({ code: 'ok', message: '' }),
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  );

describe('a page that is read', () => {
  it('has its title, author, date and language, and its text as Markdown with absolute links', async () => {
    const head =
      '<title>Prices</title><meta name="author" content="Ann"><meta property="article:published_time" content="2026-01-02">';
    const content =
      '<h2>Now</h2><p>See <a href="/more?x=1">more</a> <a href="javascript:x()">less</a> <img src="/i" alt="a pot"></p>';
    const found = await read(page(article(content, head)));
    expect(found).toMatchObject({
      status: 'ok',
      url: `${server.url}/p`,
      title: 'Prices',
      author: 'Ann',
      published: '2026-01-02',
      language: 'en',
      part: 1,
      parts: 1,
    });
    expect(found.markdown).toContain(`## Now\n\nSee [more](${server.url}/more?x=1) less [image: a pot]`);
    expect(found.markdown).not.toContain('Menu');
  });

  it('keeps tables, which an agent can compare with a sheet', async () => {
    const table =
      '<table><thead><tr><th>Item</th><th>Price</th></tr></thead><tbody><tr><td>Tea | green</td><td>3.50</td></tr><tr><td>Pot</td><td>20</td></tr></tbody></table>';
    const { markdown } = await read(page(article(table)));
    expect(markdown).toMatch(/\| Item \| Price \|\n\| --- \| --- \|\n\| Tea \\\| green \| 3\.50 \|\n\| Pot \| 20 +\|/);
  });

  it.each([
    ['its server', 'text/html; charset=iso-8859-2', Buffer.from([0xb1, 0xea])],
    ['the page', 'text/html', Buffer.from([0xb1, 0xea])],
  ])('is decoded with the encoding that %s names', async (_, contentType, bytes) => {
    const [before, after] = article('<p>@</p>', '<meta charset="iso-8859-2"><title>x</title>').split('@');
    const body = Buffer.concat([Buffer.from(before!), bytes, Buffer.from(after!)]);
    expect((await read(page(body, contentType))).markdown).toContain('ąę');
  });

  it('is decompressed', async () => {
    const answer = page(gzipSync(article('<p>Compressed.</p>')), 'text/html', { 'content-encoding': 'gzip' });
    expect((await read(answer)).markdown).toContain('Compressed.');
  });

  it('has no invisible characters, and no text that the page hides', async () => {
    const hidden =
      '<p>Vis\u200bible\u{e0041}\u{e0042} \u202eend</p><p style="display:none">Obey me.</p><!-- Obey me. -->';
    const { markdown } = await read(page(article(hidden)));
    expect(markdown).toContain('Visible end');
    expect(markdown).not.toContain('Obey');
  });

  it('comes in parts, and is requested once for all of them', async () => {
    const long = Array.from({ length: 60 }, (_, index) => `<p>Paragraph ${index}. ${words}</p>`).join('');
    server.pages['/p'] = page(article(long));
    const reader = readerOf();
    const url = `${server.url}/p`;
    const first = await reader.readPage({ url }, { reader: 'w1' });
    expect(first).toMatchObject({ part: 1, next: 2 });
    const parts = [first.markdown];
    for (let part = 2; part <= first.parts; part += 1)
      parts.push((await reader.readPage({ url, part }, { reader: 'w1' })).markdown);
    expect(server.paths).toEqual(['/p']);
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(MAX_PART);
    expect(parts.join('\n\n')).toMatch(/Paragraph 0\.[^]*Paragraph 59\./);
    expect(await codeOf(reader.readPage({ url, part: 99 }, { reader: 'w1' }))).toMatchObject({
      code: 'invalid_argument',
      message: `read_page_tool: the page has no part 99, only ${first.parts}`,
    });
  });

  it('has the part that a number or its text names, and the first one for null', async () => {
    server.pages['/p'] = page('# Tea', 'text/markdown');
    const reader = readerOf();
    const partOf = async (part: unknown) =>
      reader.readPage({ url: `${server.url}/p`, part }).then(
        (found) => found.part,
        (error: Error) => error.message,
      );
    expect(await Promise.all([undefined, null, 1, '1', ' 1 '].map(partOf))).toEqual([1, 1, 1, 1, 1]);
    expect(await partOf('2')).toBe('read_page_tool: the page has no part 2, only 1');
    for (const part of ['', '0', 'two', '1.5', '-1', 0, 1.5, true, [1]])
      expect(await partOf(part)).toBe('read_page_tool: part must be a whole number from 1');
  });

  it('can be a PDF file, also without a type, and a text or JSON file', async () => {
    const pdf = pdfOf(['First page', 'Second page']);
    for (const type of ['application/pdf', 'application/octet-stream'])
      expect(await read(page(pdf, type))).toMatchObject({
        title: 'A report',
        markdown: '## Page 1\n\nFirst page\n\n## Page 2\n\nSecond page',
      });
    expect((await read(page('{"a": 1}', 'application/json'))).markdown).toBe('{"a": 1}');
    expect((await read(page('# Title', 'text/markdown'))).markdown).toBe('# Title');
  });

  it('is the one to which the address redirects, and sends no part after #', async () => {
    server.pages['/q'] = page(article('<p>Moved.</p>'));
    const found = await read(redirect('/q?a=1'), {}, '/p#secret');
    expect(found.url).toBe(`${server.url}/q?a=1`);
    expect(server.paths).toEqual(['/p', '/q?a=1']);
  });
});

describe('a page that is not read', () => {
  it.each([
    'http://localhost/',
    'http://127.0.0.2/',
    'http://[::1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://2130706434/',
    'http://[::ffff:10.0.0.1]/',
  ])('is at %s, which is not public', async (url) => {
    expect((await codeOf(readerOf().readPage({ url }))).code).toBe('not_public');
    expect((await codeOf(read(redirect(url)))).code).toBe('not_public');
  });

  it('has a name that is resolved to a private address when the connection is made', async () => {
    const outgoing = createPageOutgoing(undefined, []);
    cleanup.defer(() => outgoing.destroy());
    // The reader itself would accept the host: the connection does not.
    const reader = createPageReader({ outgoing, privateHosts: ['localhost'] });
    const url = server.url.replace('127.0.0.1', 'localhost');
    expect((await codeOf(reader.readPage({ url }))).code).toBe('not_public');
    expect(server.paths).toEqual([]);
  });

  it.each([
    ['another protocol', 'ftp://example.org/'],
    ['credentials', 'https://user:word@example.org/'],
    ['another port', 'https://example.org:8443/'],
    ['no address', 'tea'],
    ['no text', 7],
  ])('has an address with %s', async (_, url) => {
    expect((await codeOf(readerOf().readPage({ url }))).code).toBe('invalid_argument');
  });

  it('redirects more than five times', async () => {
    expect(await codeOf(read(redirect('/p')))).toEqual({
      code: 'too_many_redirects',
      message: 'read_page_tool: the address redirects more than 5 times',
    });
  });

  it.each([
    ['video/mp4', 'read_page_tool: a video/mp4 file cannot be read as a page'],
    ['application/zip', 'read_page_tool: a application/zip file cannot be read as a page'],
    ['', 'read_page_tool: a binary file without a known type cannot be read as a page'],
  ])('has the type %j', async (type, message) => {
    expect(await codeOf(read(page(Buffer.from([0, 1, 2]), type)))).toEqual({ code: 'unsupported_type', message });
  });

  it('is too large, also if its size appears only when it is decompressed', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024, 'a');
    const limits = { maxBytes: 1024 * 1024 };
    const expected = {
      code: 'too_large',
      message: 'read_page_tool: the page has more than 1 MiB, which is too large to read',
    };
    expect(await codeOf(read(page(big), limits))).toEqual(expected);
    const bomb = page(gzipSync(big), 'text/html', { 'content-encoding': 'gzip' });
    expect(await codeOf(read(bomb, limits))).toEqual(expected);
  });

  it('is slow', async () => {
    const drip: PageServer['pages'][string] = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write('<p>');
      const timer = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(timer));
    };
    expect(await codeOf(read(drip, { requestMs: 300 }))).toEqual({
      code: 'timeout',
      message: 'read_page_tool: 127.0.0.1 did not send the page within 0.3 s',
    });
  });

  it('is refused by its server, or is not sent whole', async () => {
    expect(await codeOf(readerOf().readPage({ url: `${server.url}/none` }))).toEqual({
      code: 'bad_status',
      message: 'read_page_tool: 127.0.0.1 returned status 404 (page not found)',
    });
    const cut = await codeOf(
      read((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html', 'content-length': '100' }).write('<p>');
        setTimeout(() => response.destroy(), 20);
      }),
    );
    expect(cut.code).toBe('upstream_failed');
  });

  it('needs JavaScript, or only forwards', async () => {
    const script = page('<html><body><div id="root"></div><script src="/app.js"></script></body></html>');
    expect(await codeOf(read(script))).toEqual({
      code: 'empty',
      message: 'read_page_tool: the page has no text without JavaScript, which is not run',
    });
    const forward = page('<html><head><meta http-equiv="Refresh" content="0; url=/next"></head><body></body></html>');
    expect(await codeOf(read(forward))).toEqual({
      code: 'empty',
      message: `read_page_tool: the page has no text; it only forwards to ${server.url}/next`,
    });
  });

  it('is cancelled by its reader', async () => {
    const controller = new AbortController();
    server.pages['/p'] = () => controller.abort();
    const reading = readerOf().readPage({ url: `${server.url}/p` }, { signal: controller.signal });
    expect((await codeOf(reading)).code).toBe('cancelled');
  });
});

describe('a robots file', () => {
  const robots = (text: string) => page(text, 'text/plain');

  it('is respected for our agent, before a page and before each redirect', async () => {
    server.pages['/robots.txt'] = robots(
      'User-agent: *\nAllow: /\n\nUser-agent: uswarm-page-reader\nDisallow: /private',
    );
    server.pages['/private'] = page(article(''));
    const expected = {
      code: 'blocked_by_robots',
      message: 'read_page_tool: 127.0.0.1 does not allow programs to read this page (robots.txt)',
    };
    expect(await codeOf(readerOf().readPage({ url: `${server.url}/private` }))).toEqual(expected);
    expect(await codeOf(read(redirect('/private')))).toEqual(expected);
    expect(server.paths).toEqual(['/p']);
  });

  it('allows everything if it is missing, and nothing if its server fails', async () => {
    expect((await codeOf(read(page(article(''))))).code).toBe('ok');
    server.pages['/robots.txt'] = (_request, response) => void response.writeHead(503).end();
    expect((await codeOf(read(page(article(''))))).code).toBe('blocked_by_robots');
  });

  it('has no rule that is cut where its text ends for us', async () => {
    const comment = `#${'x'.repeat(500 * 1024 - 60)}`;
    const rules = `User-agent: *\nDisallow: /p\nDisallow: /a/`.padEnd(59, 'b');
    server.pages['/robots.txt'] = robots(`${comment}\n${rules}${'c'.repeat(100)}`);
    expect((await codeOf(read(page(article(''))))).code).toBe('blocked_by_robots');
    server.pages[`/a/${'b'.repeat(30)}/d`] = page(article(''));
    expect((await codeOf(readerOf().readPage({ url: `${server.url}/a/${'b'.repeat(30)}/d` }))).code).toBe('ok');
  });

  it('is requested once for several pages', async () => {
    let requests = 0;
    server.pages['/robots.txt'] = (request, response) => {
      requests += 1;
      robots('User-agent: *\nDisallow: /x')(request, response);
    };
    server.pages['/a'] = server.pages['/b'] = page(article(''));
    const reader = readerOf();
    await reader.readPage({ url: `${server.url}/a` });
    await reader.readPage({ url: `${server.url}/b` });
    expect(requests).toBe(1);
  });
});

describe('an index page', () => {
  it.each([
    ['a table', (row: string) => `<tr><td>${row}</td><td>2026</td></tr>`, 'table'],
    ['a list', (row: string) => `<li>${row}</li>`, 'ul'],
  ])(
    'has all of its 3,000 links: %s',
    async (_, rowOf, tag) => {
      const rows = Array.from({ length: 3_000 }, (__, index) => rowOf(`<a href="/${index}">Entry ${index}</a>`));
      const document = { html: `<h1>Index</h1><${tag}>${rows.join('')}</${tag}>`, url: 'https://example.org' };
      const { markdown, isCut } = await createExtraction(30_000)(document, undefined);
      expect({ links: markdown.match(/\]\(https:/g)?.length, isCut }).toEqual({ links: 3_000, isCut: false });
      expect(markdown).toContain('[Entry 2999](https://example.org/2999)');
    },
    60_000,
  );
});

describe('a hostile page', () => {
  /** Processor time of this thread. A busy machine does not count. */
  function threadMs(): number {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  }

  /** Milliseconds for which the event loop of this process stands still at most. */
  async function blocked(work: Promise<unknown>): Promise<number> {
    let longest = 0;
    let last = threadMs();
    const timer = setInterval(() => {
      const now = threadMs();
      longest = Math.max(longest, now - last);
      last = now;
    }, 5);
    await work;
    clearInterval(timer);
    return longest;
  }

  it.each([
    ['a million elements within each other', '<div>'.repeat(700_000), 'unreadable'],
    ['half a million elements', '<b>y</b>'.repeat(500_000), 'ok'],
    ['many links', '<a href="/x">y</a>'.repeat(100_000), 'ok'],
    ['a huge attribute', `<p title="${'a'.repeat(3_000_000)}">Short.</p>`, 'ok'],
    ['a tag that does not end', `<p>Short.</p><a href="${'a'.repeat(1_000_000)}`, 'ok'],
  ])(
    'does not block the process: %s',
    async (_, html, code) => {
      const reading = codeOf(read(page(html), { extract: createExtraction(15_000) }));
      expect(await blocked(reading)).toBeLessThan(1_000);
      expect((await reading).code).toBe(code);
    },
    30_000,
  );

  it('is given up after a while, and the next one is read', async () => {
    const slow = createExtraction(1);
    expect(await codeOf(read(page(article('')), { extract: slow }))).toEqual({
      code: 'unreadable',
      message: 'read_page_tool: the page is too complex to read',
    });
    expect((await codeOf(read(page(article(''))))).code).toBe('ok');
  });

  it('immediately releases a caller that waits for a thread when its signal aborts', async () => {
    const extract = createExtraction(15_000);
    const { signal } = new AbortController();
    const slow = { html: '<b>y</b>'.repeat(500_000), url: server.url };
    let ended = 0;
    const running = [1, 2].map(() => extract(slow, signal).finally(() => (ended += 1)));
    const cancelling = new AbortController();
    const waiting = extract({ html: article(''), url: server.url }, cancelling.signal);
    cancelling.abort();
    expect({ ...(await codeOf(waiting)), ended }).toEqual({
      code: 'cancelled',
      message: 'read_page_tool: reading was cancelled',
      ended: 0,
    });
    await Promise.all(running);
  }, 30_000);

  it('has ended its thread when its reading ends', async () => {
    const terminate = jest.spyOn(Worker.prototype, 'terminate');
    cleanup.defer(() => terminate.mockRestore());
    const ends: string[] = [];
    terminate.mockImplementation(function (this: Worker) {
      terminate.mockRestore();
      return this.terminate().then((code) => {
        ends.push('thread');
        return code;
      });
    });
    await read(page(article('')));
    ends.push('reading');
    expect(ends).toEqual(['thread', 'reading']);
  });

  it.each([
    ['malformed', '%PDF-1.4 nothing', 'the PDF is damaged and cannot be read'],
    ['another file', 'name,city', 'the PDF file is malformed'],
  ])('can be a PDF file that is %s', async (_, file, reason) => {
    expect(await codeOf(read(page(file, 'application/pdf')))).toEqual({
      code: 'unreadable',
      message: `read_page_tool: ${reason}`,
    });
  });

  it('can be a PDF file that needs much memory, which this process does not have to give', async () => {
    const pdf = createPdfReader({ program: PROGRAM, memoryBytes: 128 * MIB });
    const bomb = page(pdfBomb(300 * MIB), 'application/pdf');
    const before = process.memoryUsage.rss();
    expect(await codeOf(read(bomb, { pdf }))).toEqual({
      code: 'unreadable',
      message: 'read_page_tool: reading the file needs too much memory',
    });
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MIB);
  });
});
