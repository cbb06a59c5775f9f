import { type AccountServer, type AccountServerHabits, startAccountServer } from '@uswarm/testkit/account-server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AuthorizationFailure } from './authorization-failure.js';
import { discoverAuthorization } from './discover-authorization.js';
import { registerClient } from './register-client.js';

const NEVER = new AbortController().signal;
const REDIRECT = 'https://app.example.com/callback';
const REMEDY = 'register a client there yourself, and configure its client id';

describe('registration of a client', () => {
  let server: AccountServer;
  afterEach(() => server.close());

  async function register(habits: Partial<AccountServerHabits> = {}) {
    server = await startAccountServer(habits);
    const timeoutMs = habits.faults?.registration === 'slow' ? 1_000 : 10_000;
    const options = { fetch, signal: NEVER, timeoutMs };
    const found = await discoverAuthorization({ url: server.url, ...options });
    if (found === undefined) throw new Error('no account needed');
    return registerClient(found, { clientName: 'Our app', redirectUrls: [REDIRECT], ...options });
  }

  it('asks for a public client if the server knows public clients', async () => {
    expect(await register()).toEqual({ clientId: expect.stringMatching(/^client-/), tokenAuthMethod: 'none' });
    expect(server.registrations).toEqual([
      {
        client_name: 'Our app',
        redirect_uris: [REDIRECT],
        application_type: 'web',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    ]);
  });

  it.each(['client_secret_basic', 'client_secret_post'] as const)(
    'asks for a client with a secret otherwise: %s',
    async (method) => {
      expect(await register({ clientAuthentication: [method] })).toEqual({
        clientId: expect.stringMatching(/^client-/),
        clientSecret: expect.stringMatching(/^secret-/),
        tokenAuthMethod: method,
      });
    },
  );

  it('returns a client to which users can give their consent', async () => {
    const { clientId } = await register({ pkce: false });
    const callback = server.authorize({ response_type: 'code', client_id: clientId, redirect_uri: REDIRECT });
    expect(callback).toMatch(/^https:\/\/app\.example\.com\/callback\?code=/);
  });

  it('reports when the secret expires', async () => {
    const fields = { registration: { client_secret_expires_at: 1_900_000_000 } };
    const client = await register({ clientAuthentication: ['client_secret_post'], fields });
    expect(client.secretExpiresAt).toEqual(new Date('2030-03-17T17:46:40Z'));
  });

  it('authenticates as the server decides', async () => {
    const registration = { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' };
    const client = await register({ fields: { registration } });
    expect(client).toMatchObject({ clientSecret: 's', tokenAuthMethod: 'client_secret_post' });
  });

  it('uses HTTP Basic for a secret if the server does not say otherwise', async () => {
    const registration = { client_secret: 's', token_endpoint_auth_method: null };
    const client = await register({ fields: { registration } });
    expect(client).toMatchObject({ clientSecret: 's', tokenAuthMethod: 'client_secret_basic' });
  });

  it('drops the secret of a public client', async () => {
    const client = await register({ fields: { registration: { client_secret: 's' } } });
    expect(client).toEqual({ clientId: expect.any(String), tokenAuthMethod: 'none' });
  });

  it.each<[string, Partial<AccountServerHabits>, string]>([
    ['without an endpoint', { registration: 'none' }, 'registers no clients'],
    [
      'with an error',
      { registration: 'refused' },
      'refused to register a client (invalid_redirect_uri: This redirect URI is not on the list.)',
    ],
    ['with status 400', { faults: { registration: 400 } }, 'refused to register a client (status 400)'],
    ['with status 401', { faults: { registration: 401 } }, 'refused to register a client (status 401)'],
    ['with status 403', { faults: { registration: 403 } }, 'refused to register a client (status 403)'],
    ['with status 405', { faults: { registration: 405 } }, 'refused to register a client (status 405)'],
    ['with a redirect', { faults: { registration: 'redirect' } }, 'refused to register a client (status 302)'],
    ['with a page', { faults: { registration: 'page' } }, 'answered a registration without JSON'],
    ['without an id', { fields: { registration: { client_id: null } } }, 'answered a registration without a client id'],
  ])('tells operators to register a client if the server refuses it %s', async (_, habits, what) => {
    const message = `the authorization server ${what}: ${REMEDY}`;
    const error: unknown = await register(habits).catch((reason: unknown) => reason);
    expect(error).toEqual(new AuthorizationFailure('refused', message));
    expect(error).toMatchObject({ kind: 'refused' });
  });

  it.each([429, 503, 'slow', 'dropped'] as const)('can be tried again if the server fails: %s', async (fault) => {
    await expect(register({ faults: { registration: fault } })).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('does not read a huge answer', async () => {
    await expect(register({ faults: { registration: 'huge' } })).rejects.toMatchObject({ kind: 'invalid' });
  });

  it('reports a way to authenticate that it does not know', async () => {
    const wanted = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'tls_client_auth'] };
    await expect(register({ fields: { serverMetadata: wanted } })).rejects.toThrow(
      'the authorization server wants clients to authenticate with private_key_jwt, tls_client_auth, which is not supported',
    );
    await server.close();
    const registration = { token_endpoint_auth_method: 'private_key_jwt' };
    await expect(register({ fields: { registration } })).rejects.toMatchObject({ kind: 'unsupported' });
  });

  it('reports a client whose secret is missing', async () => {
    const registration = { token_endpoint_auth_method: 'client_secret_basic', client_secret: '' };
    await expect(register({ fields: { registration } })).rejects.toMatchObject({ kind: 'invalid' });
  });
});
