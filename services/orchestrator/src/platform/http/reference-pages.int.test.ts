import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const FILES = [
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/realtime', 'text/html; charset=utf-8'],
  ['/docs/rest.js', 'text/javascript; charset=utf-8'],
  ['/docs/rest.css', 'text/css; charset=utf-8'],
  ['/docs/realtime.js', 'text/javascript; charset=utf-8'],
  ['/docs/realtime.css', 'text/css; charset=utf-8'],
  ['/docs/icon.svg', 'image/svg+xml'],
  ['/favicon.ico', 'image/svg+xml'],
];

describe('the reference pages', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { DOCS_ENABLED: 'true' } });
  });
  afterAll(() => uswarm.close());
  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${uswarm.url}${path}`, { redirect: 'manual', ...init });

  it.each(FILES)('include %s as %s, the same for GET and HEAD', async (path, type) => {
    const headers = { 'accept-encoding': 'identity' };
    const [get, head] = [await call(path, { headers }), await call(path, { method: 'HEAD', headers })];
    for (const { status, headers: sent } of [get, head]) {
      expect({ status, type: sent.get('content-type') }).toEqual({ status: 200, type });
    }
    const bytes = Buffer.from(await get.arrayBuffer());
    expect(head.headers.get('content-length')).toBe(String(bytes.length));
    expect(await head.text()).toBe('');
  });

  it('allow no script or style that is not a file of this service', async () => {
    const policy = (await call('/docs')).headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toContain('unsafe');
  });

  it('are sent compressed to a client that accepts it, and to no other one', async () => {
    const plain = await call('/docs/rest.js', { headers: { 'accept-encoding': 'identity' } });
    const packed = await call('/docs/rest.js', { headers: { 'accept-encoding': 'gzip, br' } });
    expect([plain, packed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
    expect(packed.headers.get('vary')).toContain('Accept-Encoding');
    expect(await packed.text()).toBe(await plain.text());
  });

  it('are not sent again to a client that has them', async () => {
    const etag = (await call('/docs/rest.js')).headers.get('etag') ?? '';
    expect((await call('/docs/rest.js', { headers: { 'if-none-match': etag } })).status).toBe(304);
  });

  it('have one address each', async () => {
    const slash = await call('/docs/');
    expect({ status: slash.status, location: slash.headers.get('location') }).toEqual({
      status: 308,
      location: '../docs',
    });
    for (const path of ['/docs/nothing', '/docs/.built', '/docs/rest.js/x', '/docs/..%2fpackage.json']) {
      expect({ path, status: (await call(path)).status }).toEqual({ path, status: 404 });
    }
  });

  it('can only be read', async () => {
    const { status, headers } = await call('/docs', { method: 'POST' });
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'GET, HEAD' });
  });
});

it('has no reference pages unless DOCS_ENABLED is set', async () => {
  const uswarm = await startTestOrchestrator();
  for (const [path] of FILES) expect((await fetch(`${uswarm.url}${path}`)).status).toBe(404);
  await uswarm.close();
});
