import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createOutgoing, DIRECT, readProxy } from '@uswarm/service-kit/outgoing';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { startForwardProxy } from '@uswarm/testkit/forward-proxy';
import { createOidcVerifier, type IdentityVerifier } from './oidc-verifier.js';

const PERSON = { email: 'a@example.com', name: 'A' };

describe('known keys', () => {
  let issuer: OidcIssuer;
  let foreign: OidcIssuer;
  let verifier: IdentityVerifier;
  beforeEach(async () => {
    [issuer, foreign] = await Promise.all([startOidcIssuer(), startOidcIssuer()]);
    verifier = createOidcVerifier({
      outgoing: createOutgoing(DIRECT),
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
      outgoing: createOutgoing(DIRECT),
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

describe('an issuer that only a proxy reaches', () => {
  it('is discovered, and its keys are read, through the proxy', async () => {
    const issuer = await startOidcIssuer();
    const keys = await (await fetch(`${issuer.issuer}/jwks`)).text();
    let url = '';
    const server = createServer((request, response) =>
      response.end(request.url === '/jwks' ? keys : JSON.stringify({ issuer: url, jwks_uri: `${url}/jwks` })),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const host = `id.outside.test:${(server.address() as AddressInfo).port}`;
    url = `http://${host}`;
    const proxy = await startForwardProxy();
    const outgoing = createOutgoing(readProxy({ HTTP_PROXY: proxy.url }));
    const verifier = createOidcVerifier({
      outgoing,
      issuers: [{ id: 'test', issuer: url, audience: DEVELOPMENT_CLIENT_ID }],
      cooldownMs: 0,
      clockToleranceS: 5,
      allowHttp: true,
    });
    try {
      const token = await issuer.issueToken({ ...PERSON, issuer: url });
      expect(await verifier.verify(token)).toMatchObject({ email: PERSON.email });
      expect(proxy.targets).toEqual([host, host]);
    } finally {
      await outgoing.destroy();
      await proxy.close();
      server.close();
      await issuer.close();
    }
  });
});
