import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Attachment } from '@uswarm/contract';
import { request } from 'undici';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';
import { formOf, UPLOADS } from '../../test/uploads.js';

describe('the encoding of responses', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    user = await uswarm.user();
    home = await uswarm.home(user);
    await user.post(home.messages, { content: { type: 'text', text: 'a long text '.repeat(500) } }, 201);
  });
  afterAll(() => uswarm.close());

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await request(`${uswarm.url}${path}`, { headers: { ...user.headers, ...headers } });
    return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.from(await answer.body.arrayBuffer()) };
  };

  it.each([
    ['gzip', 'gzip', gunzipSync],
    ['br', 'gzip, deflate, br', brotliDecompressSync],
  ] as const)('is %s for JSON when the client accepts %s', async (encoding, accepted, unpack) => {
    const plain = await get(home.messages);
    const packed = await get(home.messages, { 'accept-encoding': accepted });
    expect([plain.headers['content-encoding'], plain.headers['vary']]).toEqual([undefined, 'Accept-Encoding']);
    expect([packed.headers['content-encoding'], packed.headers['vary']]).toEqual([encoding, 'Accept-Encoding']);
    expect(unpack(packed.bytes).toString()).toBe(plain.bytes.toString());
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length);
  });

  it('is none for JSON below the threshold, and for errors of that size', async () => {
    for (const path of ['/v1/health', '/v1/nothing']) {
      const { headers, bytes } = await get(path, { 'accept-encoding': 'gzip, br' });
      expect([headers['content-encoding'], JSON.parse(bytes.toString())]).toEqual([undefined, expect.any(Object)]);
    }
  });

  it('is none for files, whole or in part, even when they are JSON', async () => {
    const content = JSON.stringify({ text: 'x'.repeat(10_000) });
    const form = await formOf({ content, name: 'data.json' });
    const { body } = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, ...form });
    const link = new URL(body.data.url, uswarm.url);
    const path = `${link.pathname}${link.search}`;
    const whole = await get(path, { 'accept-encoding': 'gzip, br' });
    const part = await get(path, { 'accept-encoding': 'gzip, br', range: 'bytes=0-4999' });
    expect([whole.headers['content-encoding'], whole.bytes.toString()]).toEqual([undefined, content]);
    expect([part.status, part.headers['content-encoding'], part.bytes.length]).toEqual([206, undefined, 5_000]);
  });

  describe('of the document of the interface', () => {
    it('is the same ETag each time, by which a client that has the document gets a 304', async () => {
      const first = await get('/v1/openapi.json');
      const etag = String(first.headers['etag']);
      expect([first.status, etag]).toEqual([200, expect.stringMatching(/^W\/"[\w-]{43}"$/)]);
      expect(first.headers['cache-control']).toBe('no-cache');
      const second = await get('/v1/openapi.json', { 'if-none-match': etag });
      expect([second.status, second.headers['etag'], second.bytes.length]).toEqual([304, etag, 0]);
      expect((await get('/v1/openapi.json', { 'if-none-match': '"other"' })).status).toBe(200);
    });
  });
});
