import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

describe('a token whose issuer is behind a captive portal', () => {
  const PAGE = '<html>Sign in to the network</html>';
  it.each([
    ['a page as discovery document', '/.well-known/openid-configuration', PAGE],
    ['a page as key set', '/jwks', PAGE],
    ['other JSON as key set', '/jwks', '{}'],
  ])('is neither valid nor invalid with %s', async (_what, path, body) => {
    const issuer = await startOidcIssuer();
    let url = '';
    const portal = createServer((request, response) =>
      response.end(request.url === path ? body : JSON.stringify({ issuer: url, jwks_uri: `${url}/jwks` })),
    );
    await new Promise<void>((listening) => portal.listen(0, '127.0.0.1', listening));
    url = `http://127.0.0.1:${(portal.address() as AddressInfo).port}`;
    const verifier = createOidcVerifier({
      issuers: [{ id: 'test', issuer: url, audience: DEVELOPMENT_CLIENT_ID }],
      cooldownMs: 0,
      clockToleranceS: 5,
    });
    try {
      const token = await issuer.issueToken({ ...PERSON, issuer: url });
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'service_unavailable' });
    } finally {
      portal.closeAllConnections();
      await new Promise((closed) => portal.close(closed));
      await issuer.close();
    }
  });
});
