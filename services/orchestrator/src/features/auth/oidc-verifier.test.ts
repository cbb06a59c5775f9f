import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createOidcVerifier, type IdentityVerifier } from './oidc-verifier.js';

const PERSON = { email: 'a@example.com', name: 'A' };

describe('known keys', () => {
  let issuer: OidcIssuer;
  let foreign: OidcIssuer;
  let verifier: IdentityVerifier;
  beforeEach(async () => {
    [issuer, foreign] = await Promise.all([startOidcIssuer(), startOidcIssuer()]);
    verifier = createOidcVerifier({
      issuers: [{ id: 'test', issuer: issuer.issuer, audience: DEVELOPMENT_CLIENT_ID }],
      cooldownMs: 0,
      clockToleranceS: 5,
    });
  });
  afterEach(() => Promise.all([issuer.close(), foreign.close()]));

  /** Valid except for its key id, which no issuer publishes. */
  const unknownKey = () => foreign.issueToken({ ...PERSON, issuer: issuer.issuer });
  const codeOf = (token: string) =>
    verifier.verify(token).then(
      () => 'ok',
      (error: unknown) => (error as { code?: string }).code,
    );

  it('stay valid while the issuer is unavailable, also after a token with an unknown key caused a fetch', async () => {
    const good = await issuer.issueToken(PERSON);
    expect(await codeOf(good)).toBe('ok');
    await issuer.close();
    for (let n = 0; n < 3; n += 1) {
      expect(await codeOf(await unknownKey())).toBe('service_unavailable');
      expect(await codeOf(good)).toBe('ok');
    }
  });

  it('are used for valid tokens while the issuer is called for an unknown key', async () => {
    const good = await issuer.issueToken(PERSON);
    expect(await codeOf(good)).toBe('ok');
    await issuer.close();
    const tokens = [await unknownKey(), good, await unknownKey(), good];
    expect(await Promise.all(tokens.map(codeOf))).toEqual(['service_unavailable', 'ok', 'service_unavailable', 'ok']);
  });

  it('do not make an unknown key valid if the issuer does not list it', async () => {
    expect(await codeOf(await issuer.issueToken(PERSON))).toBe('ok');
    expect(await codeOf(await unknownKey())).toBe('token_invalid');
  });
});
