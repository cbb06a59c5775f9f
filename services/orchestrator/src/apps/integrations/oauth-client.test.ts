import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import type { IntegrationProvider } from '@uswarm/contract';
import { createOAuthClient } from './oauth-client.js';
import { createProviderClients, type ProviderClient } from './provider-clients.js';

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: Record<string, unknown>;
  body: string;
}

describe('the OAuth client', () => {
  let server: Server;
  let base: string;
  let seen: Seen[];
  let answer: { status: number; headers?: Record<string, string>; body: string };
  const oauth = createOAuthClient(DIRECT);
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: await text(request) });
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    seen = [];
    answer = { status: 200, body: '{"access_token":"fresh","ok":true}' };
  });
  afterAll(async () => {
    await oauth.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });

  function clientOf(provider: IntegrationProvider, secret: string | undefined = 's&cret'): ProviderClient {
    const settings = {
      client_id: 'id',
      ...(secret === '' ? {} : { client_secret: secret }),
      redirect_urls: ['https://app.example.com/cb'],
      token_endpoint: `${base}/token`,
      revocation_endpoint: `${base}/revoke/{client_id}`,
    };
    const client = createProviderClients({ [provider]: settings }).get(provider);
    if (client === undefined) throw new Error('the provider is not configured');
    return client;
  }
  const exchange = (client: ProviderClient) =>
    oauth.exchange(client, { code: 'c', codeVerifier: 'v', redirectUrl: 'https://app.example.com/cb' });
  const fields = (): Record<string, string> =>
    seen[0]?.headers['content-type'] === 'application/json'
      ? (JSON.parse(seen[0].body) as Record<string, string>)
      : Object.fromEntries(new URLSearchParams(seen[0]?.body));

  const BASIC = `Basic ${Buffer.from('id:s%26cret').toString('base64')}`;
  const inBody = { client_id: 'id', client_secret: 's&cret' };
  const verifier = { code_verifier: 'v' };

  it.each<[IntegrationProvider, string, object, string | undefined]>([
    ['google_calendar', 'application/x-www-form-urlencoded', { ...inBody, ...verifier }, undefined],
    ['gmail', 'application/x-www-form-urlencoded', { ...inBody, ...verifier }, undefined],
    ['slack', 'application/x-www-form-urlencoded', verifier, BASIC],
    ['jira', 'application/json', inBody, undefined],
    ['notion', 'application/json', {}, BASIC],
    ['asana', 'application/x-www-form-urlencoded', { ...inBody, ...verifier }, undefined],
    ['github', 'application/x-www-form-urlencoded', { ...inBody, ...verifier }, undefined],
    ['zoom', 'application/x-www-form-urlencoded', verifier, BASIC],
  ])(
    'requests tokens of %s as %s, with client and verifier as the provider expects them',
    async (provider, type, more, authorization) => {
      expect(await exchange(clientOf(provider))).toEqual({ accessToken: 'fresh', expiresInS: undefined });
      expect(fields()).toEqual({
        grant_type: 'authorization_code',
        code: 'c',
        redirect_uri: 'https://app.example.com/cb',
        ...more,
      });
      expect(seen[0]).toMatchObject({
        method: 'POST',
        url: '/token',
        headers: { accept: 'application/json', 'content-type': type },
      });
      expect(seen[0]?.headers['authorization']).toBe(authorization);
    },
  );

  it('sends only the client id if there is no secret', async () => {
    await exchange(clientOf('slack', ''));
    expect(fields()).toMatchObject({ client_id: 'id', code_verifier: 'v' });
    expect(seen[0]?.headers['authorization']).toBeUndefined();
  });

  it('keeps the refresh token if the provider returns no new one', async () => {
    expect(await oauth.refresh(clientOf('gmail'), 'r')).toMatchObject({ accessToken: 'fresh', refreshToken: 'r' });
    expect(fields()).toEqual({ grant_type: 'refresh_token', refresh_token: 'r', ...inBody });
  });

  it.each<[IntegrationProvider, string, string, object, string | undefined]>([
    ['gmail', 'POST', '/revoke/id', { ...inBody, token: 'r', token_type_hint: 'refresh_token' }, undefined],
    ['asana', 'POST', '/revoke/id', { ...inBody, token: 'r', token_type_hint: 'refresh_token' }, undefined],
    ['zoom', 'POST', '/revoke/id', { token: 'a', token_type_hint: 'access_token' }, BASIC],
    ['notion', 'POST', '/revoke/id', { token: 'a' }, BASIC],
    ['slack', 'POST', '/revoke/id', {}, 'Bearer a'],
  ])('revokes a token at %s by %s', async (provider, method, url, body, authorization) => {
    await oauth.revoke(clientOf(provider), { accessToken: 'a', refreshToken: 'r' });
    expect(seen[0]).toMatchObject({ method, url });
    expect({ body: fields(), authorization: seen[0]?.headers['authorization'] }).toEqual({ body, authorization });
  });

  it('revokes a grant at GitHub by DELETE', async () => {
    answer = { status: 204, body: '' };
    await oauth.revoke(clientOf('github'), { accessToken: 'a' });
    expect(seen[0]).toMatchObject({ method: 'DELETE', url: '/revoke/id', headers: { authorization: BASIC } });
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ access_token: 'a' });
  });

  it('follows no redirect, because a redirect could leak the secret', async () => {
    answer = { status: 307, headers: { location: `${base}/elsewhere` }, body: '' };
    await expect(exchange(clientOf('asana'))).rejects.toMatchObject({ kind: 'unavailable', reason: 'status 307' });
    expect(seen.map(({ url }) => url)).toEqual(['/token']);
  });

  it('limits the size of a response', async () => {
    answer = { status: 200, body: 'x'.repeat(300 * 1024) };
    await expect(exchange(clientOf('asana'))).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('reports ECONNREFUSED if the connection is rejected', async () => {
    const client = { ...clientOf('asana'), tokenEndpoint: 'http://127.0.0.1:1/token' };
    await expect(exchange(client)).rejects.toMatchObject({ kind: 'unavailable', reason: 'ECONNREFUSED' });
  });
});
