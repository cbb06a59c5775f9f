import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, type JSONWebKeySet, jwtVerify } from 'jose';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, type OidcIssuerOptions, startOidcIssuer } from './oidc.js';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function started(options: OidcIssuerOptions = {}): Promise<OidcIssuer> {
  const issuer = await startOidcIssuer(options);
  closers.push(() => issuer.close());
  return issuer;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'oidc-'));
  closers.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function mountedAt(path: string): Promise<OidcIssuer> {
  let listener: RequestListener = (_request, response) => void response.end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  const issuer = await started({ issuerUrl: `http://127.0.0.1:${port}${path}` });
  listener = issuer.listener;
  return issuer;
}

async function discover(issuer: string): Promise<Record<string, string>> {
  const response = await fetch(`${issuer}/.well-known/openid-configuration`);
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, string>;
}

async function publishedKeys(issuer: string): Promise<JSONWebKeySet> {
  const { jwks_uri: uri = '' } = await discover(issuer);
  return (await (await fetch(uri)).json()) as JSONWebKeySet;
}

async function verify({ issuer }: OidcIssuer, token: string) {
  const keys = createLocalJWKSet(await publishedKeys(issuer));
  return jwtVerify(token, keys, { issuer, audience: DEVELOPMENT_CLIENT_ID });
}

function askForToken(issuer: string, body: string, method = 'POST'): Promise<Response> {
  return fetch(`${issuer}/dev/token`, method === 'GET' ? { method } : { method, body });
}

const ada = { email: 'ada@example.com', name: 'Ada' };

describe.each([
  ['on a separate port', () => started()],
  ['on a separate port below a path', () => started({ path: '/dev/issuer' })],
  ['mounted below a path of another server', () => mountedAt('/dev/issuer')],
])('the issuer %s', (_where, make) => {
  it('publishes its configuration below its URL', async () => {
    const { issuer } = await make();
    const document = await discover(issuer);
    expect(document['issuer']).toBe(issuer);
    for (const endpoint of ['jwks_uri', 'token_endpoint', 'authorization_endpoint']) {
      expect(document[endpoint]).toMatch(new RegExp(`^${issuer}/`));
    }
  });

  it('issues tokens that its published keys verify', async () => {
    const issuer = await make();
    const response = await askForToken(issuer.issuer, JSON.stringify(ada));
    expect(response.status).toBe(200);
    const { id_token: token } = (await response.json()) as { id_token: string };
    const remote = createRemoteJWKSet(new URL((await discover(issuer.issuer))['jwks_uri'] ?? ''));
    const { payload } = await jwtVerify(token, remote, { issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID });
    expect(payload).toMatchObject({ ...ada, email_verified: true });
  });

  it('does not publish private keys', async () => {
    const { keys } = await publishedKeys((await make()).issuer);
    expect(keys).toHaveLength(1);
    expect(Object.keys(keys[0] ?? {})).not.toEqual(expect.arrayContaining(['d']));
  });

  it('signs users in with the authorization code flow', async () => {
    const issuer = await make();
    const token = await signInByFlow(issuer.issuer, ada);
    const { payload } = await verify(issuer, token);
    expect(payload).toMatchObject(ada);
    expect(payload.sub).toBe(decodeJwt(await issuer.issueToken(ada)).sub);
  });

  it('does not ask a browser again whose user has signed in', async () => {
    const { issuer } = await make();
    const cookies = new Map<string, string>();
    await signInByFlow(issuer, ada, { cookies });
    expect(decodeJwt(await signInByFlow(issuer, ada, { cookies, isKnown: true }))).toMatchObject(ada);
  });

  it('signs in the user whom a page names without a form, also after another user', async () => {
    const { issuer } = await make();
    const cookies = new Map<string, string>();
    for (const name of ['Ada', 'Bob', 'Ada']) {
      const user = { email: `${name.toLowerCase()}@example.com`, name };
      expect(decodeJwt(await signInByFlow(issuer, user, { cookies, isNamed: true }))).toMatchObject(user);
    }
  });
});

/**
 * Runs the flow like an app: opens the page, submits the form, follows the redirect, exchanges the code.
 * @param options.isNamed the app has asked for the user, so there is no form
 * @param options.isKnown the user of these cookies has signed in, so there is no form either
 */
async function signInByFlow(
  issuer: string,
  who: { email: string; name: string },
  { cookies: jar = new Map<string, string>(), isNamed = false, isKnown = false } = {},
): Promise<string> {
  const { authorization_endpoint: authorize = '', token_endpoint: token = '' } = await discover(issuer);
  const verifier = 'v'.repeat(64);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const query = new URLSearchParams({
    client_id: DEVELOPMENT_CLIENT_ID,
    redirect_uri: 'http://127.0.0.1/callback',
    response_type: 'code',
    scope: 'openid email profile',
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
    ...(isNamed && { login_hint: who.email, login_name: who.name, prompt: 'login' }),
  });
  const browse = async (url: string, form?: Record<string, string>): Promise<string> => {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=', 2);
      jar.set(name, value);
    }
    return new URL(response.headers.get('location') ?? '', url).href;
  };
  const page = await browse(`${authorize}?${query}`);
  const headers = { cookie: [...jar].map((pair) => pair.join('=')).join('; ') };
  // Without a form, the first request finishes the sign-in.
  const hasForm = !isNamed && !isKnown;
  const shown = !hasForm ? '<form' : await (await fetch(page, { headers })).text();
  expect(shown).toContain('<form');
  const resumed = await (hasForm ? browse(page, who) : browse(page));
  const callback = new URL(await browse(resumed));
  const exchange = await fetch(token, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: DEVELOPMENT_CLIENT_ID,
      code: callback.searchParams.get('code') ?? '',
      redirect_uri: 'http://127.0.0.1/callback',
      code_verifier: verifier,
    }),
  });
  const body = (await exchange.json()) as { id_token: string };
  expect({ status: exchange.status, body }).toMatchObject({ status: 200, body: { id_token: expect.any(String) } });
  return body.id_token;
}

describe('development tokens', () => {
  it('have the same subject for an e-mail address in every issuer', async () => {
    const [one, other] = [await started(), await started()];
    const upper = { ...ada, email: ada.email.toUpperCase() };
    const subjects = [await one.issueToken(ada), await other.issueToken(upper)].map((token) => decodeJwt(token).sub);
    expect(subjects[0]).toBe(subjects[1]);
    expect(decodeJwt(await one.issueToken({ ...ada, email: 'bob@example.com' })).sub).not.toBe(subjects[0]);
  });

  it('have the requested audience, subject, expiry and claims', async () => {
    const issuer = await started();
    const token = await issuer.issueToken({
      ...ada,
      audience: 'another-app',
      subject: 'given',
      expiresInSeconds: -60,
      claims: { email_verified: false },
    });
    const payload = decodeJwt(token);
    expect(payload).toMatchObject({ aud: 'another-app', sub: 'given', email_verified: false });
    expect(payload.exp).toBeLessThan(Date.now() / 1000);
    await expect(verify(issuer, token)).rejects.toThrow(/"aud"|"exp"/);
  });

  it.each([
    ['no JSON', 'email=ada', /must be a JSON object/],
    ['no object', '"ada"', /must be a JSON object/],
    ['an empty object', '{}', /email must be an e-mail address; name must be a text/],
    ['no e-mail address', JSON.stringify({ ...ada, email: 'ada' }), /email must be an e-mail address/],
    ['a blank name', JSON.stringify({ ...ada, name: '  ' }), /name must not be empty/],
    ['a name of another type', JSON.stringify({ ...ada, name: 7 }), /name must be a text/],
    ['a body over 16 KiB', JSON.stringify({ ...ada, more: 'x'.repeat(17_000) }), /at most 16 KiB/],
  ])('are refused with a sentence for %s', async (_what, body, sentence) => {
    const { issuer } = await started();
    const response = await askForToken(issuer, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: 'invalid_request',
      error_description: expect.stringMatching(sentence),
    });
  });

  it('can only be requested with POST', async () => {
    const { issuer } = await started();
    const response = await askForToken(issuer, '', 'GET');
    expect({ status: response.status, allow: response.headers.get('allow') }).toEqual({ status: 405, allow: 'POST' });
  });
});

describe('key rotation', () => {
  it('signs with a new key and still publishes the old one', async () => {
    const issuer = await started();
    const before = await issuer.issueToken(ada);
    await issuer.rotateKeys();
    const after = await issuer.issueToken(ada);
    const [old, fresh] = [await verify(issuer, before), await verify(issuer, after)];
    expect(fresh.protectedHeader.kid).not.toBe(old.protectedHeader.kid);
  });

  it('removes the old key on request', async () => {
    const issuer = await started();
    const before = await issuer.issueToken(ada);
    await issuer.rotateKeys({ keepOld: false });
    await expect(verify(issuer, before)).rejects.toThrow(/no applicable key/);
    await expect(verify(issuer, await issuer.issueToken(ada))).resolves.toBeDefined();
  });

  it('is kept over a restart if the keys have a file', async () => {
    const keysFile = join(temporaryFolder(), 'keys.json');
    const first = await started({ keysFile });
    await first.rotateKeys();
    const { keys } = await publishedKeys(first.issuer);
    const second = await started({ keysFile });
    expect((await publishedKeys(second.issuer)).keys).toEqual(keys);
    expect(statSync(keysFile).mode & 0o777).toBe(0o600);
  });
});

it('returns to further addresses of the app', async () => {
  const redirectUri = 'https://swarm.example.com/signed-in';
  const query = (uri: string) =>
    new URLSearchParams({
      client_id: DEVELOPMENT_CLIENT_ID,
      redirect_uri: uri,
      response_type: 'code',
      scope: 'openid',
      code_challenge: 'v'.repeat(43),
      code_challenge_method: 'S256',
    });
  const { issuer } = await started({ redirectUris: [redirectUri] });
  const { authorization_endpoint: authorize = '' } = await discover(issuer);
  const status = async (uri: string): Promise<number> =>
    (await fetch(`${authorize}?${query(uri)}`, { redirect: 'manual' })).status;
  expect({ own: await status(redirectUri), other: await status('https://evil.example/signed-in') }).toEqual({
    own: 303,
    other: 400,
  });
});

it('returns 404 outside of its path', async () => {
  const { issuer } = await started({ path: '/dev/issuer' });
  const elsewhere = await Promise.all(
    ['/', '/dev/issuers/dev/token', '/dev/token'].map((path) => fetch(new URL(path, issuer))),
  );
  expect(elsewhere.map(({ status }) => status)).toEqual([404, 404, 404]);
});

it('reports a port in use', async () => {
  const { issuer } = await started();
  const port = Number(new URL(issuer).port);
  await expect(startOidcIssuer({ port })).rejects.toThrow(`cannot use port ${port}`);
});
