import { createHmac, randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { checkResponse } from '@uswarm/contract/checks';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { io } from 'socket.io-client';
import { developmentToken, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { rawRequest, UPGRADE } from '../test/raw-http.js';

const E2E_TOKEN = 'a token of this test, long enough for it';
const SIGNATURE_SECRET = 'a secret of this test';

async function post(local: RunningProgram, route: string, headers: Record<string, string>) {
  const response = await fetch(`${local.url}${route}`, { method: 'POST', headers });
  const text = await response.text();
  const body = text === '' ? undefined : (JSON.parse(text) as { code: string });
  checkResponse({ method: 'POST', path: route, status: response.status, body });
  return { status: response.status, code: body?.code };
}

async function localJson(local: RunningProgram): Promise<unknown> {
  return JSON.parse(await readFile(path.join(local.directory, 'local.json'), 'utf8'));
}

const asTestUser = { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': 'ci', 'x-e2e-email': 'ci@example.com', 'x-e2e-name': 'CI' };

describe('local mode with its defaults', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    local = await runLocalMode();
  });
  afterAll(() => local?.stop());

  it('publishes its URL to programs of its owner only', async () => {
    const { url, issuer, program } = local;
    expect(await localJson(local)).toEqual({ url, issuer, e2e_token: null, pid: program.pid });
    expect((await stat(path.join(local.directory, 'local.json'))).mode & 0o777).toBe(0o600);
  });

  it('has no end-to-end bypass', async () => {
    expect(await post(local, '/v1/auth/sign-in', asTestUser)).toEqual({ status: 401, code: 'token_missing' });
  });

  it.each([
    ['/', 'text/html; charset=utf-8', /<div id="root">/],
    ['/developers', 'text/html; charset=utf-8', /<h1>uswarm is running<\/h1>/],
    ['/v1/openapi.json', 'application/json; charset=utf-8', /^\{\s*"openapi":\s*"3\.1/],
    ['/v1/asyncapi.json', 'application/json; charset=utf-8', /^\{\s*"asyncapi":\s*"3/],
  ])('serves %s', async (route, type, content) => {
    const response = await fetch(`${local.url}${route}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
    expect(await response.text()).toMatch(content);
  });

  it.each([
    '/',
    '/v1/health',
    '/v1/openapi.json',
    '/v1/asyncapi.json',
    '/dev/issuer/.well-known/openid-configuration',
    '/dev/issuer/jwks',
    '/nothing',
  ])('answers HEAD %s like GET, without a body', async (route) => {
    // A compressed body's length is not known before.
    const uncompressed = { headers: { 'accept-encoding': 'identity' } };
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => fetch(`${local.url}${route}`, { method, ...uncompressed })),
    );
    const shown = ({ status, headers }: Response) => ({
      status,
      type: headers.get('content-type'),
      length: headers.get('content-length'),
    });
    expect(shown(head!)).toEqual(shown(get!));
    expect({ head: await head!.text(), hasBody: (await get!.text()) !== '' }).toEqual({ head: '', hasBody: true });
  });

  it.each(['10.0.2.2:8080', '10.0.3.2:8080'])('serves an emulator, which calls this machine %s', async (host) => {
    expect((await rawRequest(`${local.url}/v1/health`, { host })).status).toBe(200);
    expect((await rawRequest(`${local.url}/socket.io/?EIO=4&transport=polling`, { host })).status).toBe(200);
  });

  describe('addressed by a foreign name of this machine', () => {
    const foreign = { host: 'rebound.example' };
    const polling = '/socket.io/?EIO=4&transport=polling';
    const websocket = '/socket.io/?EIO=4&transport=websocket';

    it.each(['/v1/health', '/', '/dev/issuer/.well-known/openid-configuration'])('rejects %s', async (route) => {
      expect((await rawRequest(`${local.url}${route}`, foreign)).status).toBe(421);
      expect((await rawRequest(`${local.url}${route}`, { host: 'localhost' })).status).toBe(200);
    });

    it('rejects socket.io by polling', async () => {
      expect((await rawRequest(`${local.url}${polling}`, foreign)).status).toBe(421);
      expect((await rawRequest(`${local.url}${polling}`, { host: 'localhost' })).status).toBe(200);
    });

    it('rejects socket.io by WebSocket', async () => {
      const at = `${local.url}${websocket}`;
      expect((await rawRequest(at, { ...UPGRADE, ...foreign })).upgraded).toBe(false);
      expect((await rawRequest(at, { ...UPGRADE, host: 'localhost' })).upgraded).toBe(true);
    });
  });
});

describe('local mode with E2E_TOKEN', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    local = await runLocalMode({ E2E_TOKEN });
  });
  afterAll(() => local?.stop());

  it('authenticates a test as the user that it names', async () => {
    expect(await post(local, '/v1/auth/sign-in', asTestUser)).toEqual({ status: 204, code: undefined });
    const wrong = { ...asTestUser, 'x-e2e-token': E2E_TOKEN.replace('a', 'b') };
    expect(await post(local, '/v1/auth/sign-in', wrong)).toEqual({ status: 401, code: 'token_invalid' });
  });

  it('publishes the token in local.json', async () => {
    expect(await localJson(local)).toMatchObject({ e2e_token: E2E_TOKEN });
  });
});

describe('local mode with SIGNATURE_MODE=required', () => {
  let local: RunningProgram;
  let token: string;
  beforeAll(async () => {
    local = await runLocalMode({ SIGNATURE_MODE: 'required', SIGNATURE_SECRET });
    token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
  });
  afterAll(() => local?.stop());

  /** A client's signature, independent of the production code. */
  function signed(secret = SIGNATURE_SECRET): Record<string, string> {
    const timestamp = String(Date.now());
    const signature = createHmac('sha256', secret).update(`${token}:${timestamp}`).digest('hex');
    return { 'x-token': token, 'x-timestamp': timestamp, 'x-signature': signature };
  }

  /** Connection error of a rejected socket. */
  async function socketRefusal(credentials: Record<string, string>): Promise<unknown> {
    const socket = io(`${local.url}/v1`, { auth: credentials, forceNew: true, reconnection: false });
    const code = await new Promise((resolve, reject) => {
      socket.once('connect', () => reject(new Error('it was let in')));
      socket.once('connect_error', (error: Error & { data?: { code?: unknown } }) => resolve(error.data?.code));
    });
    socket.disconnect();
    return code;
  }

  it('serves a client that signs', async () => {
    const client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token, credentials: signed });
    const { done } = await client.ask('Are you there?');
    expect(done.payload['status']).toBe('delivered');
    client.close();
  });

  it('rejects REST requests without a valid signature', async () => {
    const { 'x-signature': _left, ...unsigned } = signed();
    expect(await post(local, '/v1/auth/sign-up', unsigned)).toEqual({ status: 401, code: 'signature_missing' });
    const forged = await post(local, '/v1/auth/sign-up', signed('another secret than that'));
    expect(forged).toEqual({ status: 401, code: 'signature_invalid' });
  });

  it('rejects sockets without a valid signature', async () => {
    expect(await socketRefusal({ 'x-token': token })).toBe('signature_missing');
    expect(await socketRefusal(signed('another secret than that'))).toBe('signature_invalid');
  });
});
