import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { createOAuthClient } from './oauth-client.js';
import { createProviderClients, IntegrationProviders, type ProviderClient } from './provider-clients.js';
import type { Tokens } from './token-cipher.js';

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

  function clientOf(change: Partial<ProviderClient> = {}): ProviderClient {
    const settings = {
      client_id: 'id',
      client_secret: 's&cret',
      redirect_urls: ['https://app.example.com/cb'],
      token_endpoint: `${base}/token`,
      revocation_endpoint: `${base}/revoke`,
    };
    const client = createProviderClients(IntegrationProviders.parse({ gmail: settings })).get('gmail');
    if (client === undefined) throw new Error('the provider is not configured');
    return { ...client, ...change };
  }
  const exchange = (client: ProviderClient) =>
    oauth.exchange(client, { code: 'c', codeVerifier: 'v', redirectUrl: 'https://app.example.com/cb' });
  const fields = (): Record<string, string> => Object.fromEntries(new URLSearchParams(seen[0]?.body));

  const BASIC = `Basic ${Buffer.from('id:s%26cret').toString('base64')}`;
  const inBody = { client_id: 'id', client_secret: 's&cret' };

  it.each<['body' | 'basic', object, string | undefined]>([
    ['body', inBody, undefined],
    ['basic', {}, BASIC],
  ])(
    'requests tokens with a form and the verifier, and identifies the client by %s',
    async (by, more, authorization) => {
      expect(await exchange(clientOf({ clientAuthentication: by }))).toEqual({
        accessToken: 'fresh',
        expiresInS: undefined,
      });
      expect(fields()).toEqual({
        grant_type: 'authorization_code',
        code: 'c',
        redirect_uri: 'https://app.example.com/cb',
        code_verifier: 'v',
        ...more,
      });
      expect(seen[0]).toMatchObject({
        method: 'POST',
        url: '/token',
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect(seen[0]?.headers['authorization']).toBe(authorization);
    },
  );

  it('sends no verifier to a provider without a code challenge', async () => {
    await exchange(clientOf({ pkce: false }));
    expect(fields()).not.toHaveProperty('code_verifier');
  });

  it('sends only the client id if there is no secret', async () => {
    await exchange(clientOf({ clientAuthentication: 'basic', clientSecret: undefined }));
    expect(fields()).toMatchObject({ client_id: 'id', code_verifier: 'v' });
    expect(seen[0]?.headers['authorization']).toBeUndefined();
  });

  it('keeps the refresh token if the provider returns no new one', async () => {
    expect(await oauth.refresh(clientOf(), 'r')).toMatchObject({ accessToken: 'fresh', refreshToken: 'r' });
    expect(fields()).toEqual({ grant_type: 'refresh_token', refresh_token: 'r', ...inBody });
  });

  it.each<[string, Tokens, object]>([
    ['refresh', { accessToken: 'a', refreshToken: 'r' }, { token: 'r', token_type_hint: 'refresh_token' }],
    ['access', { accessToken: 'a' }, { token: 'a', token_type_hint: 'access_token' }],
  ])('revokes the %s token, with which the whole grant ends', async (_which, tokens, body) => {
    await oauth.revoke(clientOf(), tokens);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/revoke' });
    expect(fields()).toEqual({ ...inBody, ...body });
  });

  it('follows no redirect, because a redirect could leak the secret', async () => {
    answer = { status: 307, headers: { location: `${base}/elsewhere` }, body: '' };
    await expect(exchange(clientOf())).rejects.toMatchObject({ kind: 'unavailable', reason: 'status 307' });
    expect(seen.map(({ url }) => url)).toEqual(['/token']);
  });

  it('limits the size of a response', async () => {
    answer = { status: 200, body: 'x'.repeat(300 * 1024) };
    await expect(exchange(clientOf())).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('reports ECONNREFUSED if the connection is rejected', async () => {
    const client = { ...clientOf(), tokenEndpoint: 'http://127.0.0.1:1/token' };
    await expect(exchange(client)).rejects.toMatchObject({ kind: 'unavailable', reason: 'ECONNREFUSED' });
  });
});
