import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS } from '@uswarm/contract';
import { type KeyIssuer, startKeyIssuer } from '@uswarm/dev-servers';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { shareByTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import { request } from 'undici';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -1e300,
  1.5,
  1e15,
  1e300,
  Number.MAX_SAFE_INTEGER,
  [],
  ['a'],
  [null],
  [['a']],
  {},
  { a: 1 },
  { toString: 'a' },
  '',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfff',
  '__proto__',
  '\u202e\u200b',
  'x'.repeat(4_000),
  '9999999999999999',
  `https://user:password@example.com/${'p'.repeat(3_000)}`,
];
/**
 * OpenID Connect and JWT claims. These decide who signs in until when; the others describe the person or the session.
 */
const DECISIVE = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'azp'];
const OTHERS = [
  'jti',
  'sid',
  'nonce',
  'auth_time',
  'acr',
  'amr',
  'at_hash',
  'c_hash',
  'events',
  'cnf',
  'act',
  'scope',
  'email',
  'email_verified',
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'picture',
  'profile',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'phone_number',
  'address',
  'updated_at',
  '__proto__',
  'constructor',
  'toString',
];
const HEADERS = ['typ', 'cty', 'kid', 'x5t', 'jku', 'x5u'];
const TOKEN_CODES = ['token_invalid', 'token_expired'];

describe('a signed token with odd claims', () => {
  let issuer: KeyIssuer;
  let uswarm: TestOrchestrator;
  const log: string[] = [];
  beforeAll(async () => {
    issuer = await startKeyIssuer('ES256');
    const issuers = [{ id: 'keys', issuer: issuer.issuer, audience: 'app' }];
    const environment = { OIDC_ISSUERS: JSON.stringify(issuers) };
    uswarm = await startTestOrchestrator({ bypass: true, logTo: log, environment });
  });
  afterAll(() => Promise.all([uswarm.close(), issuer.close()]));

  async function sign(claims: object, header: object = {}): Promise<string> {
    const own = { aud: 'app', sub: crypto.randomUUID(), ...claims } as JWTPayload;
    return issuer.issueToken({ claims: own, header: header as Partial<JWTHeaderParameters> });
  }
  /** Tries a sign-up, which uses all claims. @returns the outcome */
  async function signUp(token: string): Promise<string> {
    const client = uswarm.anonymous.with({ 'x-token': token });
    const { status, body } = await client.raw<{ code?: string }>({ method: 'POST', path: '/v1/auth/sign-up' });
    if (status !== 204) return body.code ?? String(status);
    // Later requests use the claims, too.
    await client.get('/v1/users/profile');
    await client.raw({ method: 'POST', path: '/v1/auth/logout-all' });
    return 'signed up';
  }
  const errorLines = (): string[] => log.filter((line) => line.includes('"level":"error"'));

  it.each(DECISIVE)('is refused as such, or was meant: %s', async (claim) => {
    const codes = new Set<string>();
    for (const value of ODD) codes.add(await signUp(await sign({ [claim]: value })));
    codes.delete('signed up');
    expect([...codes].filter((code) => !TOKEN_CODES.includes(code))).toEqual([]);
    expect(errorLines()).toEqual([]);
  });

  it.each([
    ['sub', [null, true, 5, 1e300, [], ['a'], {}, { a: 1 }, '', '\u0000', 'a\u0000b', '\ud800', 'x'.repeat(4_000)]],
    ['iss', [null, 5, [], {}, 'https://other.example.com']],
    ['aud', [null, 5, [], {}, 'other', ['other'], [5, 'app']]],
    ['exp', [null, '9999999999', [], {}, 1e300, 1e15]],
    ['nbf', ['1', [], {}, 1e300]],
    ['iat', ['1', [], {}, true, -1, 1e300, 253_402_300_799, Math.floor(Date.now() / 1_000) + 3_600]],
  ] satisfies [string, unknown[]][])('is 401 token_invalid: %s', async (claim, values) => {
    for (const value of values) {
      const code = await signUp(await sign({ [claim]: value }));
      expect({ value, code }).toEqual({ value, code: 'token_invalid' });
    }
    expect(errorLines()).toEqual([]);
  });

  // The core tier tests every third value with each claim.
  it.each(OTHERS)('signs in without the claim, or is refused: %s', async (claim) => {
    for (const value of shareByTier(ODD, OTHERS.indexOf(claim), 3)) {
      const code = await signUp(
        await sign(JSON.parse(`{${JSON.stringify(claim)}:${JSON.stringify(value)}}`) as object),
      );
      expect({ value, ok: code === 'signed up' || TOKEN_CODES.includes(code) }).toEqual({ value, ok: true });
    }
    expect(errorLines()).toEqual([]);
  });

  it.each(HEADERS)('is refused or ignored in the header: %s', async (name) => {
    for (const value of ODD) {
      const token = await sign({}, { [name]: value }).catch(() => undefined);
      if (token === undefined) continue;
      const code = await signUp(token);
      expect({ value, ok: code === 'signed up' || code === 'token_invalid' }).toEqual({ value, ok: true });
    }
    expect(errorLines()).toEqual([]);
  });

  it('never causes a server error', async () => {
    const claims = fc.dictionary(fc.constantFrom(...DECISIVE, ...OTHERS), fc.oneof(fc.jsonValue(), fc.double()));
    await fc.assert(
      fc.asyncProperty(claims, async (odd) => {
        const code = await signUp(await sign(odd));
        expect(code === 'signed up' || TOKEN_CODES.includes(code)).toBe(true);
      }),
      { numRuns: 100 },
    );
    expect(errorLines()).toEqual([]);
  });

  it.each(['\u0000', 'a\u0000b', '\ud800', 'x'.repeat(4_000)])(
    'is refused if the bypass names the user %j',
    async (uid) => {
      const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
      const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ credentials: { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': uid } }),
      });
      await answer.body.dump();
      expect([400, 401]).toContain(answer.statusCode);
      expect(errorLines()).toEqual([]);
    },
  );
});
