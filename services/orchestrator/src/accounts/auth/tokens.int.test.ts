import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ROUTES, type RouteDefinition } from '@uswarm/contract';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import type { Method } from '../../../test/api-client.js';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const IDENTITY_ROUTES = [
  ['POST', '/v1/auth/sign-in'],
  ['POST', '/v1/auth/sign-up'],
  ['POST', '/v1/auth/logout'],
  ['DELETE', '/v1/auth/delete'],
] as const;

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Keeps a valid token's claims and replaces its header and signature. */
function forge(token: string, header: Record<string, unknown>, signature: (input: string) => string): string {
  const input = `${base64(header)}.${token.split('.')[1]}`;
  return `${input}.${signature(input)}`;
}

describe('identity provider tokens', () => {
  let uswarm: TestOrchestrator;
  let foreign: OidcIssuer;
  beforeAll(async () => {
    foreign = await startOidcIssuer();
    uswarm = await startTestOrchestrator();
  });
  afterAll(async () => {
    await uswarm.close();
    await foreign.close();
  });

  const codeOf = (token: string) => uswarm.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE);
  const person = () => ({ email: `${crypto.randomUUID()}@example.com`, name: 'P' });

  it('AUTH-001 an ID token in X-Token authenticates', async () => {
    const { token } = await uswarm.user();
    expect((await uswarm.anonymous.with({ 'x-token': token }).get(PROFILE)).status).toBe(200);
  });

  it('AUTH-002 an ID token in Authorization: Bearer authenticates', async () => {
    const { token } = await uswarm.user();
    expect((await uswarm.anonymous.with({ authorization: `Bearer ${token}` }).get(PROFILE)).status).toBe(200);
  });

  it('X-Token takes precedence over Authorization', async () => {
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    const both = uswarm.anonymous.with({ 'x-token': one.token, authorization: `Bearer ${other.token}` });
    expect((await both.get<{ data: { email: string } }>(PROFILE)).body.data.email).toBe(one.email);
  });

  it.each(IDENTITY_ROUTES)('AUTH-006 %s %s rejects the token in Authorization', async (method, path) => {
    const { token } = await uswarm.user();
    const before = await allRows(uswarm.database);
    const bearer = uswarm.anonymous.with({ authorization: `Bearer ${token}` });
    expect(await bearer.refusal(method, path)).toBe('token_header_required');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it.each(IDENTITY_ROUTES)('AUTH-006 %s %s requires a token', async (method, path) => {
    expect(await uswarm.anonymous.refusal(method, path)).toBe('token_missing');
  });

  const documented: readonly RouteDefinition[] = ROUTES;
  const closed = documented.filter(
    ({ extension, path }) => extension !== true && !/^\/v1\/(health|models|legal)$/.test(path),
  );
  it.each(closed.map(({ method, path }) => [method.toUpperCase() as Method, path] as const))(
    'AUTH-007 %s %s rejects a caller without credentials',
    async (method, path) => {
      const concrete = path.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      expect(await uswarm.anonymous.refusal(method, concrete)).toBe('token_missing');
    },
  );

  it.each([
    ['not a JWT', 'garbage'],
    ['only dots', '..'],
    ['a JWT without JSON', 'e30.bm9uZQ.AAAA'],
    ['an empty JWT', `${base64({ alg: 'RS256' })}.${base64({})}.AAAA`],
    ['an issuer that is not a string', `${base64({ alg: 'RS256' })}.${base64({ iss: {} })}.AAAA`],
    ['12,000 characters', 'x'.repeat(12_000)],
    ['a cookie', 'session=1; token=2'],
  ])('rejects a malformed token: %s', async (_what, token) => {
    expect(await codeOf(token)).toBe('token_invalid');
  });

  it('rejects an expired token with a separate code', async () => {
    expect(await codeOf(await uswarm.issuer.issueToken({ ...person(), expiresInSeconds: -60 }))).toBe('token_expired');
  });

  it('tolerates a clock skew of a few seconds', async () => {
    expect(await codeOf(await uswarm.issuer.issueToken({ ...person(), expiresInSeconds: -1 }))).toBe(
      'sign_up_required',
    );
  });

  it('rejects a token that is not valid yet', async () => {
    const nbf = Math.floor(Date.now() / 1000) + 3_600;
    expect(await codeOf(await uswarm.issuer.issueToken({ ...person(), claims: { nbf } }))).toBe('token_invalid');
  });

  it('rejects a token for another audience', async () => {
    expect(await codeOf(await uswarm.issuer.issueToken({ ...person(), audience: 'another-app' }))).toBe(
      'token_invalid',
    );
  });

  it('accepts several audiences if azp is the configured client', async () => {
    const audience = ['another-app', DEVELOPMENT_CLIENT_ID];
    const token = (claims: object) => uswarm.issuer.issueToken({ ...person(), audience, claims: { ...claims } });
    expect(await codeOf(await token({ azp: DEVELOPMENT_CLIENT_ID }))).toBe('sign_up_required');
    expect(await codeOf(await token({ azp: 'another-app' }))).toBe('token_invalid');
    expect(await codeOf(await token({ azp: [DEVELOPMENT_CLIENT_ID] }))).toBe('token_invalid');
    expect(await codeOf(await token({}))).toBe('token_invalid');
  });

  it('rejects a token of an issuer that is not configured', async () => {
    expect(await codeOf(await foreign.issueToken(person()))).toBe('token_invalid');
  });

  it('rejects a token of a foreign issuer that claims to be the configured one', async () => {
    expect(await codeOf(await foreign.issueToken({ ...person(), issuer: uswarm.issuer.issuer }))).toBe('token_invalid');
  });

  it('rejects alg none', async () => {
    const token = await uswarm.issuer.issueToken(person());
    expect(await codeOf(forge(token, { alg: 'none' }, () => ''))).toBe('token_invalid');
  });

  it('rejects HS256 with the public key as secret', async () => {
    const keys = (await (await fetch(`${uswarm.issuer.issuer}/jwks`)).json()) as { keys: { kid: string; n: string }[] };
    const key = keys.keys[0];
    const secrets = [JSON.stringify(key), key?.n ?? '', Buffer.from(key?.n ?? '', 'base64url')];
    const token = await uswarm.issuer.issueToken(person());
    for (const secret of secrets) {
      const sign = (input: string) => createHmac('sha256', secret).update(input).digest('base64url');
      expect(await codeOf(forge(token, { alg: 'HS256', kid: key?.kid }, sign))).toBe('token_invalid');
    }
  });

  it('rejects a token whose claims were changed', async () => {
    const { token } = await uswarm.user();
    const [header, payload = '', signature] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    expect(await codeOf([header, base64({ ...claims, sub: 'other-user' }), signature].join('.'))).toBe('token_invalid');
  });

  it('stores nothing if a sign-up token is rejected', async () => {
    const before = await allRows(uswarm.database);
    const bad = [
      await foreign.issueToken(person()),
      'garbage',
      await uswarm.issuer.issueToken({ ...person(), expiresInSeconds: -60 }),
    ];
    for (const token of bad) await uswarm.anonymous.with({ 'x-token': token }).refusal('POST', '/v1/auth/sign-up');
    expect(await allRows(uswarm.database)).toEqual(before);
  });
});

describe('the keys of the issuer', () => {
  it('are updated during a rotation, and a withdrawn key becomes invalid', async () => {
    const uswarm = await startTestOrchestrator();
    try {
      const user = await uswarm.user();
      await uswarm.issuer.rotateKeys();
      const again = uswarm.anonymous.with({ 'x-token': await uswarm.issuer.issueToken(user) });
      expect({ again: (await again.get(PROFILE)).status, user: (await user.get(PROFILE)).status }).toEqual({
        again: 200,
        user: 200,
      });
      await uswarm.issuer.rotateKeys({ keepOld: false });
      const fresh = uswarm.anonymous.with({ 'x-token': await uswarm.issuer.issueToken(user) });
      expect((await fresh.get(PROFILE)).status).toBe(200);
      expect(await user.refusal('GET', PROFILE)).toBe('token_invalid');
    } finally {
      await uswarm.close();
    }
  });

  it('cause service_unavailable instead of token_invalid while they cannot be fetched', async () => {
    const issuer = await startOidcIssuer();
    const { port } = new URL(issuer.issuer);
    const issuers = JSON.stringify([{ issuer: issuer.issuer, audience: 'app' }]);
    const token = await issuer.issueToken({ email: 'a@example.com', name: 'A', audience: 'app' });
    await issuer.close();
    const uswarm = await startTestOrchestrator({ environment: { OIDC_ISSUERS: issuers } });
    try {
      expect(await uswarm.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE)).toBe('service_unavailable');
      const again = await startOidcIssuer({ port: Number(port) });
      const fresh = await again.issueToken({ email: 'a@example.com', name: 'A', audience: 'app' });
      expect(await uswarm.anonymous.with({ 'x-token': fresh }).refusal('GET', PROFILE)).toBe('sign_up_required');
      await again.close();
    } finally {
      await uswarm.close();
    }
  });
});
