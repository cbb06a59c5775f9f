import { createServer, type RequestListener } from 'node:http';
import { listen } from '@uswarm/service-kit';
import { describe, expect, it } from '@jest/globals';
import { banner } from './banner.js';
import { createPages, type PageFacts } from './pages.js';

const plain: PageFacts = {
  url: 'http://127.0.0.1:1',
  issuer: 'http://127.0.0.1:1/dev',
  model: 'demo',
  search: () => 'none',
  dataDirectory: '/data',
  environment: {},
};

async function page(path: string, facts: Partial<PageFacts> = {}) {
  const serve = createPages({ ...plain, ...facts });
  const listener: RequestListener = (request, response) => {
    if (!serve(request.url ?? '', request, response)) response.writeHead(404).end('of the API');
  };
  const server = await listen(createServer(listener), { host: '127.0.0.1', port: 0 });
  const response = await fetch(`${server.url}${path}`);
  const answer = { status: response.status, headers: response.headers, body: await response.text() };
  await server.close(0);
  return answer;
}

describe('the pages of local mode', () => {
  it('show the running services and the first steps', async () => {
    const { body } = await page('/developers');
    for (const fact of [plain.url, plain.issuer, plain.model, plain.search()]) expect(body).toContain(fact);
    expect(body).toContain('<pre>npm run chat');
  });

  it('show the commands of the terminal, with the data folder if it is not the default one', async () => {
    const dataDirectory = "/Users/ada/my data's";
    const facts = { ...plain, dataDirectory, environment: { USWARM_DATA_DIR: dataDirectory } };
    const { body } = await page('/developers', facts);
    const shown = /<pre>([^<]*npm run chat[^<]*)<\/pre>/.exec(body)?.[1] ?? '';
    const command = shown.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
    expect(banner({ ...facts, e2eToken: undefined, shared: false })).toContain(`\n  ${command}\n`);
    expect(command).toMatch(/^USWARM_DATA_DIR='/);
  });

  it('show the current state of the search', async () => {
    let state = 'starting';
    const serve = createPages({ ...plain, search: () => state });
    const server = await listen(
      createServer((request, response) => void serve(request.url ?? '', request, response)),
      {
        host: '127.0.0.1',
        port: 0,
      },
    );
    const body = async (): Promise<string> => (await fetch(`${server.url}/developers`)).text();
    expect(await body()).toContain('<dd>starting</dd>');
    state = 'ready';
    expect(await body()).toContain('<dd>ready</dd>');
    await server.close(0);
  });

  it.each(['url', 'issuer', 'model', 'search'] as const)('escape the %s', async (fact) => {
    const hostile = `http://127.0.0.1:1/<script>alert("&")</script>`;
    const { body } = await page('/developers', { [fact]: fact === 'search' ? () => hostile : hostile });
    expect(body).not.toContain('<script');
    expect(body).toContain('&#60;script&#62;alert(&#34;&#38;&#34;)&#60;/script&#62;');
  });

  it('forbid scripts and frames', async () => {
    const { headers } = await page('/developers');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('link to the documents of the API and to its reference', async () => {
    const { body } = await page('/developers');
    for (const path of ['/v1/openapi.json', '/v1/asyncapi.json', '/docs', '/docs/realtime'])
      expect(body).toContain(`href="${path}"`);
  });

  it('pass other paths to the API', async () => {
    expect(await page('/v1/health')).toMatchObject({ status: 404, body: 'of the API' });
    expect((await page('/v1/openapi.json')).status).toBe(404);
  });
});
