import { createHash } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type AccountServer, type AccountServerHabits, startAccountServer } from './account-server.js';

const CLIENT = { clientId: 'app', clientSecret: 's', redirectUrls: ['https://app.example.com/callback'] };
const VERIFIER = 'v'.repeat(43);
const AUTHORIZATION = {
  response_type: 'code',
  client_id: CLIENT.clientId,
  redirect_uri: 'https://app.example.com/callback',
  scope: 'read write',
  state: 'x',
  code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
  code_challenge_method: 'S256',
};

interface Tokens {
  access_token: string;
  refresh_token: string;
}

describe('the server of accounts', () => {
  let server: AccountServer;
  afterEach(() => server.close());

  const start = async (habits: Partial<AccountServerHabits> = {}): Promise<void> => {
    server = await startAccountServer({ clients: [CLIENT], ...habits });
  };

  async function post(fields: Record<string, string>, path = '/token') {
    const body = new URLSearchParams({ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, ...fields });
    const response = await fetch(`${server.origin}${path}`, { method: 'POST', body });
    return { status: response.status, text: await response.text() };
  }

  const codeOf = (callback: string): string => new URL(callback).searchParams.get('code') ?? '';

  const exchange = (code: string) =>
    post({ grant_type: 'authorization_code', code, redirect_uri: AUTHORIZATION.redirect_uri, code_verifier: VERIFIER });
  const refresh = (token: string) => post({ grant_type: 'refresh_token', refresh_token: token });

  const connect = async (): Promise<Tokens> => {
    const { text } = await exchange(codeOf(server.authorize(AUTHORIZATION)));
    return JSON.parse(text) as Tokens;
  };

  async function accountOf(token: string): Promise<unknown> {
    const client = new Client({ name: 'test', version: '1' });
    const authProvider = { token: () => Promise.resolve(token) };
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { authProvider }));
    const { content } = await client.callTool({ name: 'read_account', arguments: {} });
    await client.close();
    return content;
  }

  const mcpStatus = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(server.url, { method: 'POST', headers, body: '{}' })).status;
  };

  it('serves its tool to the account that gave its consent', async () => {
    await start();
    const { access_token: token } = await connect();
    expect(await accountOf(token)).toEqual([{ type: 'text', text: 'ada' }]);
  });

  it('redirects a browser as the simulated user is redirected', async () => {
    await start({ callbackIssuer: true });
    const url = `${server.origin}/authorize?${new URLSearchParams(AUTHORIZATION).toString()}`;
    const { status, headers } = await fetch(url, { redirect: 'manual' });
    const callback = new URL(headers.get('location') ?? '');
    expect({ status, ...Object.fromEntries(callback.searchParams) }).toEqual({
      status: 302,
      state: 'x',
      iss: server.origin,
      code: expect.stringMatching(/^code-/),
    });
  });

  it('reports refusals to the app, and wrong clients to the user', async () => {
    await start();
    const { authorize } = server;
    expect(authorize(AUTHORIZATION, { denied: true })).toContain('error=access_denied');
    expect(authorize({ ...AUTHORIZATION, scope: 'admin' })).toContain('error=invalid_scope');
    expect(authorize({ ...AUTHORIZATION, resource: 'https://other.example' })).toContain('error=invalid_target');
    expect(() => authorize({ ...AUTHORIZATION, client_id: 'other' })).toThrow('unknown client_id');
    const elsewhere = { ...AUTHORIZATION, redirect_uri: 'https://evil.example' };
    expect(() => authorize(elsewhere)).toThrow('redirect_uri is not registered');
  });

  it('accepts a code once, with its verifier', async () => {
    await start();
    const code = codeOf(server.authorize(AUTHORIZATION));
    expect(await post({ grant_type: 'authorization_code', code })).toMatchObject({ status: 400 });
    const { status, text } = await exchange(code);
    const { access_token: token } = JSON.parse(text) as Tokens;
    expect({ status, mcp: await mcpStatus(token) }).not.toMatchObject({ mcp: 401 });
    expect(await exchange(code)).toMatchObject({ status: 400, text: '{"error":"invalid_grant"}' });
    expect(await mcpStatus(token)).toBe(401);
  });

  it('ends a grant whose refresh token is used again, if it detects that', async () => {
    await start({ refreshTokens: 'family' });
    const first = await connect();
    const second = JSON.parse((await refresh(first.refresh_token)).text) as Tokens;
    expect(await mcpStatus(second.access_token)).not.toBe(401);
    expect(await refresh(first.refresh_token)).toEqual({ status: 400, text: '{"error":"invalid_grant"}' });
    expect(await mcpStatus(second.access_token)).toBe(401);
    expect(await refresh(second.refresh_token)).toMatchObject({ status: 400 });
  });

  it('keeps the grant otherwise', async () => {
    await start({ refreshTokens: 'rotating' });
    const first = await connect();
    const second = JSON.parse((await refresh(first.refresh_token)).text) as Tokens;
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 400 });
    expect(await mcpStatus(second.access_token)).not.toBe(401);
  });

  it('lets access tokens expire', async () => {
    await start({ expiresInS: 0 });
    expect(await mcpStatus((await connect()).access_token)).toBe(401);
  });

  it('ends grants when the user or the app revokes them', async () => {
    await start();
    const [one, two] = [await connect(), await connect()];
    await post({ token: one.refresh_token }, '/revoke');
    expect(await mcpStatus(one.access_token)).toBe(401);
    expect(await mcpStatus(two.access_token)).not.toBe(401);
    server.revoke('ada');
    expect(await mcpStatus(two.access_token)).toBe(401);
  });

  it('answers as Slack does', async () => {
    await start({ tokenAnswer: 'nested', tokenErrors: 'slack' });
    const { text } = await exchange(codeOf(server.authorize(AUTHORIZATION)));
    expect(JSON.parse(text)).toMatchObject({ ok: true, authed_user: { scope: 'read,write' } });
    const refreshed = await refresh(server.tokens[0]?.refreshToken ?? '');
    expect(JSON.parse(refreshed.text)).toMatchObject({ ok: true, access_token: server.tokens[1]?.accessToken });
    const failed = { status: 200, text: '{"ok":false,"error":"invalid_refresh_token"}' };
    expect(await refresh('unknown')).toEqual(failed);
  });

  it('answers as GitHub does', async () => {
    await start({ tokenAnswer: 'form', tokenErrors: 'github' });
    const { text } = await exchange(codeOf(server.authorize(AUTHORIZATION)));
    expect(text).toMatch(/^access_token=access-/);
    expect(await refresh('unknown')).toEqual({ status: 200, text: 'error=bad_refresh_token' });
  });
});
