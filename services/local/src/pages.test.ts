import { createServer, type RequestListener } from 'node:http';
import { listen } from '@uswarm/service-kit';
import { describe, expect, it } from '@jest/globals';
import { createPages, type PageFacts } from './pages.js';

const plain: PageFacts = { url: 'http://127.0.0.1:1', issuer: 'http://127.0.0.1:1/dev', model: 'demo', search: 'none' };

async function page(path: string, facts: Partial<PageFacts> = {}) {
  const serve = createPages({ ...plain, ...facts });
  const listener: RequestListener = (request, response) => {
    if (!serve(request.url ?? '', response)) response.writeHead(404).end('of the API');
  };
  const server = await listen(createServer(listener), { host: '127.0.0.1', port: 0 });
  const response = await fetch(`${server.url}${path}`);
  const answer = { status: response.status, headers: response.headers, body: await response.text() };
  await server.close(0);
  return answer;
}

describe('the pages of local mode', () => {
  it('show the running services and the first steps', async () => {
    const { body } = await page('/');
    for (const fact of Object.values(plain)) expect(body).toContain(fact);
    expect(body).toContain('npm run chat');
  });

  it.each(['url', 'issuer', 'model', 'search'] as const)('escape the %s', async (fact) => {
    const { body } = await page('/', { [fact]: `<script>alert("&")</script>` });
    expect(body).not.toContain('<script');
    expect(body).toContain('&#60;script&#62;alert(&#34;&#38;&#34;)&#60;/script&#62;');
  });

  it('forbid scripts and frames', async () => {
    const { headers } = await page('/');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('link to the documents of the API', async () => {
    const { body } = await page('/');
    for (const path of ['/v1/openapi.json', '/v1/asyncapi.json']) expect(body).toContain(`href="${path}"`);
  });

  it('pass other paths to the API', async () => {
    expect(await page('/v1/health')).toMatchObject({ status: 404, body: 'of the API' });
    expect((await page('/v1/openapi.json')).status).toBe(404);
  });
});
