import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listen, type RunningServer } from './http-server.js';
import { loadStaticFiles } from './static-files.js';

const PAGE = '<!doctype html><title>Page</title>';
const SCRIPT = 'export const words = "a word ".repeat(100);\n'.repeat(50);

describe('loadStaticFiles', () => {
  const parent = mkdtempSync(join(tmpdir(), 'uswarm-static-'));
  const folder = join(parent, 'page');
  let server: RunningServer;
  beforeAll(async () => {
    mkdirSync(join(folder, 'assets'), { recursive: true });
    writeFileSync(join(parent, 'secret.html'), 'secret');
    writeFileSync(join(folder, 'index.html'), PAGE);
    writeFileSync(join(folder, '.built'), 'stamp');
    writeFileSync(join(folder, 'manifest.json'), '{}');
    writeFileSync(join(folder, 'assets/page-1a2b.js'), SCRIPT);
    const files = loadStaticFiles({
      folder: pathToFileURL(`${folder}/`),
      policy: "default-src 'none'",
      headers: { 'cross-origin-opener-policy': 'same-origin' },
      isImmutable: (name) => name.startsWith('assets/'),
    });
    const http = createServer((incoming, response) => {
      if (!files.send(String(incoming.url).slice(1), incoming, response)) response.writeHead(404).end();
    });
    server = await listen(http, { host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await server.close(0);
    rmSync(parent, { recursive: true });
  });

  /** Sends the path as it is; `fetch` would normalize it, and decompress the body. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
      const { port } = new URL(server.url);
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
        );
      });
      sent.on('error', reject).end();
    });

  it('serves a file with its type and the headers of a page', async () => {
    const { status, headers, body } = await get('/index.html');
    expect({ status, body: String(body), headers }).toMatchObject({
      status: 200,
      body: PAGE,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': "default-src 'none'",
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      },
    });
  });

  it('lets browsers keep a file whose name changes with its content', async () => {
    const { headers } = await get('/assets/page-1a2b.js');
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  });

  it('answers HEAD like GET, without the body', async () => {
    const [whole, head] = [await get('/index.html'), await get('/index.html', {}, 'HEAD')];
    const without = ({ date: _date, ...headers }: IncomingHttpHeaders): object => headers;
    expect({ status: head.status, body: String(head.body) }).toEqual({ status: 200, body: '' });
    expect(without(head.headers)).toEqual(without(whole.headers));
  });

  it.each(['gzip', 'br, gzip', 'GZIP', 'deflate,gzip;q=0.5', '*', 'gzip;q=1.0'])(
    'compresses a file for a client that accepts %s',
    async (accepted) => {
      const { headers, body } = await get('/assets/page-1a2b.js', { 'accept-encoding': accepted });
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      expect(body.length).toBeLessThan(SCRIPT.length / 5);
      expect(String(gunzipSync(body))).toBe(SCRIPT);
    },
  );

  it.each(['', 'br', 'identity', 'gzip;q=0', 'gzip;q=0.0, br', 'x-gzip2'])(
    'does not compress a file for a client that accepts %j',
    async (accepted) => {
      const { headers, body } = await get('/assets/page-1a2b.js', { 'accept-encoding': accepted });
      expect(headers).not.toHaveProperty('content-encoding');
      expect(headers.vary).toBe('Accept-Encoding');
      expect(String(body)).toBe(SCRIPT);
    },
  );

  it('does not send a file again to a client that has it, in either encoding', async () => {
    const { etag = '' } = (await get('/assets/page-1a2b.js')).headers;
    const again = await get('/assets/page-1a2b.js', { 'if-none-match': etag, 'accept-encoding': 'gzip' });
    expect({ status: again.status, body: String(again.body), etag: again.headers.etag }).toEqual({
      status: 304,
      body: '',
      etag,
    });
    expect(again.headers['content-security-policy']).toBe("default-src 'none'");
    expect((await get('/assets/page-1a2b.js', { 'if-none-match': '"another"' })).status).toBe(200);
  });

  it.each([
    '/../secret.html',
    '/%2e%2e/secret.html',
    '/assets/../../secret.html',
    '/..%2fsecret.html',
    '//index.html',
    '/index.html/',
    '/index.html%00',
    '/assets',
    '/.built',
    '/manifest.json',
    '/constructor',
    '/__proto__',
  ])('serves nothing at %s', async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});
