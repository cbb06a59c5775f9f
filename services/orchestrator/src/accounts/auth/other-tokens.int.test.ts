import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KeyIssuer, startKeyIssuer } from '@uswarm/dev-servers';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';

describe('JWTs of an issuer that are not ID tokens', () => {
  let issuer: KeyIssuer;
  let strict: KeyIssuer;
  let parties: KeyIssuer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    [issuer, strict, parties] = await Promise.all([
      startKeyIssuer('RS256'),
      startKeyIssuer('RS256'),
      startKeyIssuer('ES256'),
    ]);
    const issuers = [
      { id: 'keys', issuer: issuer.issuer, audience: 'app' },
      { id: 'google', issuer: parties.issuer, audience: 'web', authorized_parties: ['android'] },
      { id: 'strict', issuer: strict.issuer, audience: 'app', algorithms: ['ES256', 'PS256'] },
    ];
    uswarm = await startTestOrchestrator({ environment: { OIDC_ISSUERS: JSON.stringify(issuers) } });
  });
  afterAll(() => Promise.all([uswarm, issuer, strict, parties].map((each) => each.close())));

  const codeOf = async (token: string) => uswarm.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE);
  const claims = () => ({ aud: 'app', sub: crypto.randomUUID() });

  it.each(['JWT', 'jwt', 'application/jwt', 'Application/JWT', undefined, null])(
    'accepts an ID token with typ %s',
    async (typ) => {
      expect(await codeOf(await issuer.issueToken({ claims: claims(), header: { typ: typ as string } }))).toBe(
        'sign_up_required',
      );
    },
  );

  it.each([
    'at+jwt',
    'AT+JWT',
    'application/at+jwt',
    'logout+jwt',
    'application/logout+jwt',
    'dpop+jwt',
    'secevent+jwt',
    'token-introspection+jwt',
    'application/introspection+jwt',
    'oauth-authz-req+jwt',
    'JWE',
    'JOSE',
    'jwt+x',
    'application/application/jwt',
    ' JWT',
    '',
    'of another kind',
  ])('rejects a token with typ %j', async (typ) => {
    expect(await codeOf(await issuer.issueToken({ claims: claims(), header: { typ } }))).toBe('token_invalid');
  });

  it('rejects a logout token without a type', async () => {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    expect(await codeOf(await issuer.issueToken({ claims: { ...claims(), events } }))).toBe('token_invalid');
  });

  it('takes a null in a token for an absent claim', async () => {
    const nulls = { events: null, picture: null, given_name: null, auth_time: null, azp: null };
    expect(await codeOf(await issuer.issueToken({ claims: { ...claims(), ...nulls } }))).toBe('sign_up_required');
  });

  it('checks azp also if the token has one audience', async () => {
    const withParty = (azp: unknown) => issuer.issueToken({ claims: { ...claims(), azp } });
    expect(await codeOf(await withParty('app'))).toBe('sign_up_required');
    for (const azp of ['another-app', '', 5, true, ['app'], { client: 'app' }]) {
      expect({ azp, code: await codeOf(await withParty(azp)) }).toEqual({ azp, code: 'token_invalid' });
    }
  });

  it('accepts a token that another client of the app requested, if it is configured', async () => {
    const withParty = (azp: string) => parties.issueToken({ claims: { ...claims(), aud: 'web', azp } });
    expect(await codeOf(await withParty('android'))).toBe('sign_up_required');
    expect(await codeOf(await withParty('ios'))).toBe('token_invalid');
  });

  it('rejects an algorithm that is not in the list of the issuer', async () => {
    expect(await codeOf(await strict.issueToken({ claims: claims() }))).toBe('token_invalid');
  });

  it.each(['/.well-known/openid-configuration', '/jwks'])('limits the size of the response to %s', async (long) => {
    let url = '';
    const server = createServer((request, response) => {
      const padding = request.url === long ? ' '.repeat(300 * 1024) : '';
      const document = request.url === '/jwks' ? { keys: [] } : { issuer: url, jwks_uri: `${url}/jwks` };
      response.end(padding + JSON.stringify(document));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const issuers = JSON.stringify([{ issuer: url, audience: 'app' }]);
    const other = await startTestOrchestrator({ environment: { OIDC_ISSUERS: issuers } });
    try {
      const token = await issuer.issueToken({ claims: { ...claims(), iss: url } });
      // A response within the limit does not contain the key, which would be `token_invalid`.
      expect(await other.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE)).toBe('service_unavailable');
    } finally {
      await other.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('does not fetch keys over http from the machine that a discovery document names', async () => {
    let url = '';
    const server = createServer((_request, response) =>
      response.end(JSON.stringify({ issuer: url, jwks_uri: 'http://keys.example.com/jwks' })),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const logs: string[] = [];
    const issuers = JSON.stringify([{ issuer: url, audience: 'app' }]);
    const other = await startTestOrchestrator({ environment: { OIDC_ISSUERS: issuers }, logTo: logs });
    try {
      const token = await issuer.issueToken({ claims: { ...claims(), iss: url } });
      expect(await other.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE)).toBe('service_unavailable');
      expect(logs.join('')).toContain('http://keys.example.com/jwks, which needs https');
    } finally {
      await other.close();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
