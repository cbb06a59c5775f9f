import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createPageServer } from './page-server.js';

const CONFIGURATION = { issuer: 'https://issuer.example/realm', client_id: 'app', scopes: 'openid', local: false };

describe('createPageServer', () => {
  const serve = createPageServer(CONFIGURATION, ['https://tokens.example', 'https://issuer.example']);
  const server = createServer((request, response) => {
    if (!serve(request.url ?? '', request, response)) response.writeHead(404).end('of the API');
  });
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('allows scripts, styles and connections from the same origin, and connections to the endpoints of the issuer', async () => {
    const { headers } = await fetch(url);
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' blob:",
      "connect-src 'self' https://issuer.example https://tokens.example",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it.each(['/', '/w/1', '/w/1/c/2', '/w/1/agents', '/waiting', '/account', '/legal/terms', '/signed-in'])(
    'serves the page at %s',
    async (path) => {
      const response = await fetch(`${url}${path}`);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await response.text()).toContain('<div id="root">');
    },
  );

  it('serves the configuration, which nothing may store', async () => {
    const response = await fetch(`${url}/page.json`);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual(CONFIGURATION);
  });

  it('lets browsers keep scripts, whose names change with their content', async () => {
    const html = await (await fetch(url)).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1];
    const response = await fetch(`${url}${script}`);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-encoding')).toBe('gzip');
  });

  it.each(['/v1/health', '/docs', '/w', '/w/1/c', '/.vite/manifest.json', '/../package.json'])(
    'leaves %s to the API',
    async (path) => {
      expect((await fetch(`${url}${path}`)).status).toBe(404);
    },
  );
});
