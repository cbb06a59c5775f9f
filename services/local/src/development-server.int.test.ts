import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { io } from 'socket.io-client';
import { developmentToken } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode, startLocalMode } from '../test/local.js';
import { rawRequest, UPGRADE } from '../test/raw-http.js';

const LISTED = 'https://staging.example.com';
const FOREIGN = 'https://evil.example';
const POLLING = '/socket.io/?EIO=4&transport=polling';

/** Addresses that a page's client calls: the page of local mode, REST, the issuer, and a socket's long poll. */
const PATHS = [
  '/v1/health',
  '/v1/workspaces',
  '/v1/nothing',
  '/dev/issuer/.well-known/openid-configuration',
  '/dev/issuer/jwks',
  POLLING,
];
const ORIGINS = ['http://localhost:5173', 'http://127.0.0.1:8081', 'http://[::1]:3000', LISTED];
const listOf = (headers: Headers, name: string): string[] =>
  (headers.get(name) ?? '').split(',').map((entry) => entry.trim().toLowerCase());

describe('a page that is developed against local mode', () => {
  let local: RunningProgram;
  beforeAll(async () => {
    local = await runLocalMode({ CORS_ORIGINS: LISTED });
  });
  afterAll(() => local?.stop());

  const from = (origin: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${local.url}${path}`, { ...init, headers: { ...(init.headers as Record<string, string>), origin } });
  const preflight = (origin: string, path: string, method: string, headers: string): Promise<Response> =>
    from(origin, path, {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': method, 'access-control-request-headers': headers },
    });

  describe.each(ORIGINS)('from %s', (origin) => {
    it.each(PATHS)('can read the response of %s', async (path) => {
      const { headers } = await from(origin, path);
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('vary')).toMatch(/\bOrigin\b/);
      for (const name of ['x-workspace-position', 'retry-after', 'x-request-id', 'etag']) {
        expect(listOf(headers, 'access-control-expose-headers')).toContain(name);
      }
    });

    it.each([
      ['/v1/workspaces', 'PATCH', 'x-token,x-device-id,content-type,idempotency-key'],
      ['/v1/stream', 'GET', 'x-token,last-event-id,x-resume-token'],
      ['/dev/issuer/dev/token', 'POST', 'content-type'],
      ['/dev/issuer/token', 'POST', 'content-type'],
      [POLLING, 'POST', 'content-type'],
    ])('may call %s after a preflight', async (path, method, sent) => {
      const { status, headers } = await preflight(origin, path, method, sent);
      expect({ status, origin: headers.get('access-control-allow-origin') }).toEqual({ status: 204, origin });
      expect(listOf(headers, 'access-control-allow-methods')).toContain(method.toLowerCase());
      const allowed = listOf(headers, 'access-control-allow-headers');
      expect(sent.split(',').filter((name) => !allowed.includes(name))).toEqual([]);
    });
  });

  it('gets a development token and connects a socket', async () => {
    const [origin] = ORIGINS;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ email: 'page@example.com', name: 'Page' });
    const given = await from(origin!, '/dev/issuer/dev/token', { method: 'POST', headers, body });
    const { id_token: token } = (await given.json()) as { id_token: string };
    await from(origin!, '/v1/auth/sign-up', { method: 'POST', headers: { 'x-token': token } });
    for (const transports of [['polling'], ['websocket']]) {
      const options = { transports, auth: { 'x-token': token }, extraHeaders: { origin: origin! }, forceNew: true };
      const socket = io(`${local.url}/v1`, options);
      const session = await new Promise((resolve) => socket.once('session.ready', resolve));
      expect(session).toMatchObject({ resume_token: expect.any(String) });
      socket.disconnect();
    }
  });

  describe.each([FOREIGN, 'null', 'http://localhost.evil.example:5173', 'http://192.168.0.7:5173'])(
    'from %s',
    (origin) => {
      it.each([...PATHS, '/', '/dev/issuer/dev/token'])(
        'is refused by %s, with the setting that allows it',
        async (path) => {
          const response = await from(origin, path);
          expect({ status: response.status, origin: response.headers.get('access-control-allow-origin') }).toEqual({
            status: 403,
            origin: null,
          });
          const remedy = origin === 'null' ? 'from http://localhost' : `CORS_ORIGINS=${origin}`;
          expect(await response.text()).toContain(remedy);
        },
      );

      it('is refused by a preflight', async () => {
        const { status, headers } = await preflight(origin, '/v1/workspaces', 'GET', 'x-token');
        expect({ status, origin: headers.get('access-control-allow-origin') }).toEqual({ status: 403, origin: null });
      });

      it('cannot open a WebSocket', async () => {
        const at = `${local.url}/socket.io/?EIO=4&transport=websocket`;
        expect((await rawRequest(at, { ...UPGRADE, origin })).upgraded).toBe(false);
        expect((await rawRequest(at, { ...UPGRADE, origin: ORIGINS[0]! })).upgraded).toBe(true);
      });
    },
  );

  it('is refused under a foreign name of this machine, although both have the same host', async () => {
    const rebound = { host: 'rebound.example:8080', origin: 'http://rebound.example:8080' };
    expect((await rawRequest(`${local.url}/v1/health`, rebound)).status).toBe(421);
  });
});

describe('local mode with --host 0.0.0.0', () => {
  let local: RunningProgram;
  const address = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  // A machine without a network has this second address.
  const reached = address ?? '127.0.0.2';
  beforeAll(async () => {
    local = await runLocalMode({}, ['--host', '0.0.0.0']);
  });
  afterAll(() => local?.stop());

  it('serves a phone: REST, a token of the issuer, and a page of the development server on the same machine', async () => {
    const base = local.url.replace('127.0.0.1', reached);
    const token = await developmentToken(`${base}/dev/issuer`, 'phone@example.com');
    const headers = { 'x-token': token, origin: `http://${reached}:8081` };
    const response = await fetch(`${base}/v1/auth/sign-up`, { method: 'POST', headers });
    expect({ status: response.status, origin: response.headers.get('access-control-allow-origin') }).toEqual({
      status: 204,
      origin: headers.origin,
    });
  });

  it('prints URLs that a phone reaches, and who can sign in', () => {
    const printed = local.program.stdout();
    expect(printed).toContain(`uswarm is running at http://${address ?? '127.0.0.1'}:`);
    expect(printed).toMatch(/network +every machine that reaches this one can sign in as any user/);
  });
});

describe('local mode with --host and another address than those of this machine', () => {
  it('names the addresses that it accepts', async () => {
    const program = startLocalMode({}, ['--host', '203.0.113.9']);
    await program.printed(/--host must be an address of this machine.*or 0\.0\.0\.0 for all of them/);
    expect(await program.ended).toBe(1);
  });
});
