import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Attachment } from '@uswarm/contract';
import { request } from 'undici';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import { formOf, UPLOADS } from '../../../test/uploads.js';

describe('response compression', () => {
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
  ] as const)('uses %s for JSON when the client accepts %s', async (encoding, accepted, unpack) => {
    const plain = await get(home.messages);
    const packed = await get(home.messages, { 'accept-encoding': accepted });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' });
    expect(packed.headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' });
    expect(unpack(packed.bytes).toString()).toBe(plain.bytes.toString());
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length);
  });

  it('does not compress JSON below the threshold, including errors', async () => {
    for (const path of ['/v1/health', '/v1/nothing']) {
      const { headers, bytes } = await get(path, { 'accept-encoding': 'gzip, br' });
      expect(headers).not.toHaveProperty('content-encoding');
      expect(JSON.parse(bytes.toString())).toEqual(expect.any(Object));
    }
  });

  it('does not compress files and ranges of files, even if they are JSON', async () => {
    const content = JSON.stringify({ text: 'x'.repeat(10_000) });
    const form = await formOf({ content, name: 'data.json' });
    const { body } = await user.raw<{ data: Attachment }>({ method: 'POST', path: UPLOADS, ...form });
    const link = new URL(body.data.url, uswarm.url);
    const path = `${link.pathname}${link.search}`;
    const whole = await get(path, { 'accept-encoding': 'gzip, br' });
    const part = await get(path, { 'accept-encoding': 'gzip, br', range: 'bytes=0-4999' });
    expect(whole.headers).not.toHaveProperty('content-encoding');
    expect(whole.bytes.toString()).toBe(content);
    expect(part.headers).not.toHaveProperty('content-encoding');
    expect({ status: part.status, bytes: part.bytes.length }).toEqual({ status: 206, bytes: 5_000 });
  });

  describe('GET /v1/openapi.json', () => {
    it('returns a constant ETag, and 304 to a client that has the document', async () => {
      const first = await get('/v1/openapi.json');
      const etag = String(first.headers['etag']);
      expect(first.status).toBe(200);
      expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
      expect(first.headers['cache-control']).toBe('no-cache');
      const second = await get('/v1/openapi.json', { 'if-none-match': etag });
      expect({ status: second.status, etag: second.headers['etag'], bytes: second.bytes.length }).toEqual({
        status: 304,
        etag,
        bytes: 0,
      });
      expect((await get('/v1/openapi.json', { 'if-none-match': '"other"' })).status).toBe(200);
    });
  });
});
