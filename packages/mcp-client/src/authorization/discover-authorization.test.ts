import {
  type AccountServer,
  type AccountServerHabits,
  startAccountServer,
  VENDOR_HABITS,
} from '@uswarm/testkit/account-server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AuthorizationFailure } from './authorization-failure.js';
import { type AuthorizationServer, discoverAuthorization } from './discover-authorization.js';

const NEVER = new AbortController().signal;
const { anything } = expect;

describe('discovery of how accounts of an MCP server are connected', () => {
  let server: AccountServer;
  afterEach(() => server.close());

  const discover = (more: { url?: string; signal?: AbortSignal; timeoutMs?: number } = {}) =>
    discoverAuthorization({ url: server.url, fetch, signal: NEVER, ...more });

  async function discovered(habits: Partial<AccountServerHabits> = {}): Promise<AuthorizationServer | undefined> {
    server = await startAccountServer(habits);
    return discover();
  }

  async function failure(habits: Partial<AccountServerHabits>): Promise<{ kind: string; message: string }> {
    server = await startAccountServer(habits);
    const error: unknown = await discover({
      timeoutMs: Object.values(habits.faults ?? {}).includes('slow') ? 1_000 : 10_000,
    }).catch((reason: unknown) => reason);
    if (!(error instanceof AuthorizationFailure)) throw new Error(`no failure: ${String(error)}`);
    return { kind: error.kind, message: error.message.replaceAll(server.origin, '') };
  }

  const paths = () => server.requests.map(({ method, path }) => `${method} ${path}`);

  it('returns what the two documents of the server say', async () => {
    expect(await discovered()).toEqual({
      issuer: server.origin,
      authorizationEndpoint: `${server.origin}/authorize`,
      tokenEndpoint: `${server.origin}/token`,
      registrationEndpoint: `${server.origin}/register`,
      revocationEndpoint: `${server.origin}/revoke`,
      resource: server.url,
      scopes: ['read', 'write'],
      tokenAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
      pkce: true,
      issuesCallbackIssuer: false,
    });
    expect(paths()).toEqual([
      'POST /v2/mcp',
      'GET /.well-known/oauth-protected-resource/v2/mcp',
      'GET /.well-known/oauth-authorization-server',
    ]);
  });

  it.each(Object.keys(VENDOR_HABITS) as (keyof typeof VENDOR_HABITS)[])(
    'understands a server with the habits of %s',
    async (vendor) => {
      const habits: Partial<AccountServerHabits> = VENDOR_HABITS[vendor];
      const found = await discovered(habits);
      const resources = { endpoint: server.url, folder: `${server.origin}/v2`, origin: server.origin };
      expect(found).toMatchObject({
        issuer: `${server.origin}${habits.issuerPath ?? ''}`,
        tokenEndpoint: `${server.origin}/token`,
        resource: resources[habits.resource ?? 'endpoint'],
        scopes: habits.scopes ?? ['read', 'write'],
      });
      expect(found?.registrationEndpoint === undefined).toBe(habits.registration === 'none');
    },
  );

  it('returns undefined if the server serves requests without a token', async () => {
    expect(await discovered({ needsAccount: false, resourceMetadata: 'none' })).toBeUndefined();
  });

  it('follows the metadata of a server that serves the first request without a token', async () => {
    expect(await discovered({ needsAccount: false })).toMatchObject({
      issuer: server.origin,
      scopes: ['read', 'write'],
    });
  });

  it('requests the scopes of the challenge before those of the metadata', async () => {
    expect(await discovered({ challengeScope: 'read  mail:read' })).toMatchObject({ scopes: ['read', 'mail:read'] });
  });

  it('requests no scopes if the server names none', async () => {
    expect(await discovered({ fields: { resourceMetadata: { scopes_supported: null } } })).toMatchObject({
      scopes: [],
    });
  });

  it('leaves out what cannot be a scope', async () => {
    const fields = { resourceMetadata: { scopes_supported: ['read', 7, '', 'two words', 'quo"te', 'ümlaut'] } };
    expect(await discovered({ fields })).toMatchObject({ scopes: ['read'] });
  });

  it.each(['endpoint', 'origin'] as const)(
    'finds the metadata of the server by itself if the challenge does not name it: %s',
    async (resourceMetadata) => {
      expect(await discovered({ challenge: 'none', resourceMetadata })).toMatchObject({ resource: server.url });
    },
  );

  it('looks for the metadata of the server elsewhere if the challenge leads to nothing', async () => {
    server = await startAccountServer({ resourceMetadata: 'folder' });
    const firstAnswer = await fetch(server.url, { method: 'POST' });
    server.habits.resourceMetadata = 'origin';
    const outdated: typeof fetch = async (url, init) => {
      const { status, body } = await fetch(url, init);
      return new Response(body, { status, headers: status === 401 ? firstAnswer.headers : {} });
    };
    const found = await discoverAuthorization({ url: server.url, fetch: outdated, signal: NEVER });
    expect(found?.resource).toBe(server.url);
    expect(paths()).toContain('GET /.well-known/oauth-protected-resource/v2');
  });

  it.each(['inserted', 'appended', 'openid-inserted', 'openid-appended'] as const)(
    'finds the metadata of an issuer with a path: %s',
    async (serverMetadata) => {
      const found = await discovered({ serverMetadata, issuerPath: '/tenants/7' });
      expect(found?.issuer).toBe(`${server.origin}/tenants/7`);
    },
  );

  it('understands the metadata of an OpenID provider without a path', async () => {
    expect(await discovered({ serverMetadata: 'openid-inserted' })).toMatchObject({ issuer: server.origin });
  });

  it('uses the addresses of 2025-03-26 if the server publishes no metadata', async () => {
    const found = await discovered({ challenge: 'none', resourceMetadata: 'none', serverMetadata: 'none' });
    expect(found).toEqual({
      authorizationEndpoint: `${server.origin}/authorize`,
      tokenEndpoint: `${server.origin}/token`,
      registrationEndpoint: `${server.origin}/register`,
      resource: server.url,
      scopes: [],
      tokenAuthMethods: ['client_secret_basic'],
      pkce: true,
      issuesCallbackIssuer: false,
    });
  });

  it('reads the metadata of the authorization server at the origin if the server itself has none', async () => {
    const found = await discovered({ challenge: 'bare', resourceMetadata: 'none' });
    expect(found).toMatchObject({ issuer: server.origin, resource: server.url, scopes: [] });
  });

  it('knows the defaults of fields that are absent, null or odd', async () => {
    const serverMetadata = {
      registration_endpoint: null,
      revocation_endpoint: 7,
      token_endpoint_auth_methods_supported: [],
      code_challenge_methods_supported: ['plain'],
      authorization_response_iss_parameter_supported: 'yes',
    };
    expect(await discovered({ fields: { serverMetadata } })).toEqual({
      issuer: anything(),
      authorizationEndpoint: anything(),
      tokenEndpoint: anything(),
      resource: anything(),
      scopes: anything(),
      tokenAuthMethods: ['client_secret_basic'],
      pkce: false,
      issuesCallbackIssuer: false,
    });
  });

  it('reports whether the server sends its issuer in callbacks', async () => {
    expect(await discovered({ callbackIssuer: true })).toMatchObject({ issuesCallbackIssuer: true });
  });

  it('takes an issuer for the same with and without a slash at the end', async () => {
    server = await startAccountServer();
    server.habits.fields = { serverMetadata: { issuer: `${server.origin}/` } };
    expect(await discover()).toMatchObject({ issuer: `${server.origin}/` });
  });

  it.each(['', '/'])('takes a resource for the same with and without a slash at the end: %j', async (slash) => {
    server = await startAccountServer();
    server.habits.fields = { resourceMetadata: { resource: `${server.origin}/v2/mcp${slash}` } };
    expect(await discover()).toMatchObject({ resource: `${server.origin}/v2/mcp${slash}` });
  });

  it.each([
    ['https://mcp.example.com/v2/mcp', 'https://mcp.example.com/v2/mcp'],
    ['/other', '/other'],
    ['/v2/mc', '/v2/mc'],
    ['/v2/mcp/deeper', '/v2/mcp/deeper'],
    ['/v2/mcp?tenant=1', '/v2/mcp?tenant=1'],
    [`https://mcp.example.com/\u202E\n${'x'.repeat(300)}`, `https://mcp.example.com/ ${'x'.repeat(175)}…`],
  ])('refuses metadata that names another resource: %s', async (resource, shown) => {
    server = await startAccountServer();
    const named = resource.startsWith('/') ? `${server.origin}${resource}` : resource;
    server.habits.fields = { resourceMetadata: { resource: named } };
    const text = `the metadata of the server names another resource: ${named.replace(resource, shown)}`;
    await expect(discover()).rejects.toThrow(new AuthorizationFailure('invalid', text));
  });

  it('refuses the metadata of an authorization server that names another issuer', async () => {
    expect(await failure({ fields: { serverMetadata: { issuer: 'https://evil.example' } } })).toEqual({
      kind: 'invalid',
      message: 'the metadata of the authorization server / names another issuer: https://evil.example',
    });
  });

  it('reports an authorization server that the metadata names, but that has none itself', async () => {
    expect(await failure({ serverMetadata: 'none' })).toEqual({
      kind: 'unsupported',
      message: 'the authorization server  publishes no metadata',
    });
  });

  const FIELDS = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'];
  it.each(FIELDS)('refuses an unprotected or malformed address: %s', async (field) => {
    const refused = (address: string) => failure({ fields: { serverMetadata: { [field]: address } } });
    const name = `the ${field} in the metadata of the authorization server`;
    const insecure = await refused('http://id.example.com/x');
    await server.close();
    const script = await refused('javascript:alert(1)');
    await server.close();
    const relative = await refused('/x');
    await server.close();
    const secret = await refused('https://user:password@id.example.com/x');
    expect([insecure, script, relative, secret]).toEqual([
      { kind: 'invalid', message: `${name} needs https: http://id.example.com/x` },
      { kind: 'invalid', message: `${name} needs https: javascript:alert(1)` },
      { kind: 'invalid', message: `${name} is not an address: /x` },
      { kind: 'invalid', message: `${name} contains credentials` },
    ]);
  });

  it('refuses an authorization server without https', async () => {
    const fields = { resourceMetadata: { authorization_servers: ['http://id.example.com'] } };
    const message = 'the authorization server needs https: http://id.example.com';
    expect(await failure({ fields })).toEqual({ kind: 'invalid', message });
  });

  it('refuses metadata without a token endpoint', async () => {
    const message = 'the metadata at /.well-known/oauth-authorization-server has no valid token_endpoint';
    expect(await failure({ fields: { serverMetadata: { token_endpoint: null } } })).toEqual({
      kind: 'invalid',
      message,
    });
  });

  const RESOURCE = '/.well-known/oauth-protected-resource/v2/mcp';
  const SERVER = '/.well-known/oauth-authorization-server';
  it.each([
    ['huge', 'invalid', (address: string) => `the answer of ${address} is longer than 256 KiB`],
    ['page', 'invalid', (address: string) => `${address} did not answer with JSON`],
    ['redirect', 'invalid', (address: string) => `${address} redirects, which is not followed`],
    ['slow', 'unreachable', (address: string) => `${address} did not answer within 1 s`],
    ['dropped', 'unreachable', (address: string) => `${address} could not be reached (UND_ERR_SOCKET)`],
    [429, 'unreachable', (address: string) => `${address} answered status 429`],
    [503, 'unreachable', (address: string) => `${address} answered status 503`],
  ] as const)('reports metadata that cannot be read: %s', async (fault, kind, message) => {
    const ofResource = await failure({ faults: { resourceMetadata: fault } });
    await server.close();
    const ofServer = await failure({ faults: { serverMetadata: fault } });
    expect({ ofResource, ofServer }).toEqual({
      ofResource: { kind, message: message(RESOURCE) },
      ofServer: { kind, message: message(SERVER) },
    });
  });

  it('reads metadata at the next address if the first answers with a page', async () => {
    server = await startAccountServer({ resourceMetadata: 'origin', challenge: 'none' });
    const withPages: typeof fetch = (url, init) =>
      String(url).endsWith('/v2/mcp') && init?.method !== 'POST'
        ? Promise.resolve(new Response('<!doctype html>'))
        : fetch(url, init);
    const found = await discoverAuthorization({ url: server.url, fetch: withPages, signal: NEVER });
    expect(found?.issuer).toBe(server.origin);
  });

  it.each([
    [404, 'unsupported', '/v2/mcp answered status 404; check the address of the server'],
    ['redirect', 'unsupported', '/v2/mcp redirects, which is not followed; check the address of the server'],
    [502, 'unreachable', '/v2/mcp answered status 502'],
    ['dropped', 'unreachable', '/v2/mcp could not be reached (UND_ERR_SOCKET)'],
  ] as const)('reports a server that does not answer the first request: %s', async (fault, kind, message) => {
    expect(await failure({ faults: { mcp: fault } })).toEqual({ kind, message });
  });

  it('does not wait for the end of a stream that answers the first request', async () => {
    expect(await discovered({ faults: { mcp: 'slow' }, resourceMetadata: 'none' })).toBeUndefined();
  });

  it.each([
    [400, 'no account', undefined],
    [400, 'an account', 'Bearer error="invalid_request"'],
    [403, 'an account', 'Bearer error="insufficient_scope", scope="mail:read"'],
  ])('understands the first answer of a server: %s, %s', async (status, _, header) => {
    server = await startAccountServer({ resourceMetadata: header === undefined ? 'none' : 'endpoint' });
    const answering: typeof fetch = (url, init) =>
      init?.method === 'POST'
        ? Promise.resolve(new Response(null, { status, headers: header ? { 'www-authenticate': header } : {} }))
        : fetch(url, init);
    const found = await discoverAuthorization({ url: server.url, fetch: answering, signal: NEVER });
    expect(found === undefined).toBe(header === undefined);
  });

  it('refuses a server without https only if it wants an account', async () => {
    server = await startAccountServer();
    const url = 'http://mcp.example.com/mcp';
    const answering = (status: number) =>
      discoverAuthorization({ url, signal: NEVER, fetch: () => Promise.resolve(new Response(null, { status })) });
    expect(await answering(200)).toBeUndefined();
    const message = `the server wants an account, so its address needs https: ${url}`;
    await expect(answering(401)).rejects.toThrow(new AuthorizationFailure('invalid', message));
  });

  it('refuses metadata whose address in the challenge has no https', async () => {
    server = await startAccountServer();
    const challenge = { 'www-authenticate': 'Bearer resource_metadata="http://mcp.example.com/metadata"' };
    const answered = discoverAuthorization({
      url: 'https://mcp.example.com/mcp',
      signal: NEVER,
      fetch: () => Promise.resolve(new Response(null, { status: 401, headers: challenge })),
    });
    const message = 'the metadata of the server needs https: http://mcp.example.com/metadata';
    await expect(answered).rejects.toThrow(new AuthorizationFailure('invalid', message));
  });

  it('ends with the reason of its signal', async () => {
    server = await startAccountServer({ faults: { serverMetadata: 'slow' } });
    const controller = new AbortController();
    const running = discover({ signal: controller.signal });
    const reason = new Error('stopped');
    setTimeout(() => controller.abort(reason), 50);
    await expect(running).rejects.toBe(reason);
  });
});
