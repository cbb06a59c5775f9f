import { isDeepStrictEqual } from 'node:util';
import { randomUUIDv7 } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type ApiToken,
  type ApiTokenBody,
  AuthenticateAnswer,
  type Conversation,
  type ErrorBody,
  INTERNAL_PATHS,
  type NewApiToken,
  type RouteDefinition,
  ROUTES,
  type SessionEnd,
  SessionsAnswer,
  type Workspace,
} from '@uswarm/contract';
import { EXAMPLE } from '@uswarm/contract/documents';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import type { ApiClient } from '../../../test/api-client.js';
import {
  type Operation,
  operationsOf,
  readDocument,
  type SeenAnswer,
  sendExample,
  type Values,
} from '../../../test/api-document.js';
import { searchRows } from '../../../test/database-rows.js';
import { type ProviderServers, startProviderServers } from '../../../test/integrations.js';
import { createUserResources, storeCard, type UserResources } from '../../../test/resource-fixtures.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const TOKENS = '/v1/api-tokens';
const PROFILE = '/v1/users/profile';
const IDS = Object.values(EXAMPLE).filter((value) => /^[\da-f-]{36}$/.test(value) && value !== EXAMPLE.localId);
const CALLED: readonly RouteDefinition[] = ROUTES.filter(({ auth }) => auth !== 'public');

const codeOf = ({ body }: SeenAnswer): string | undefined => (body as ErrorBody | undefined)?.code;

describe('API tokens', () => {
  let uswarm: TestOrchestrator;
  let server: ProviderServers;
  let operations: Map<string, Operation>;
  const ended: SessionEnd[] = [];
  beforeAll(async () => {
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({ environment: { ...server.environment, API_TOKEN_MAX_DAYS: '100' } });
    await uswarm.bus.onSessionEnd((end) => void ended.push(end));
    operations = new Map(operationsOf(await readDocument(uswarm.url)).map((each) => [each.operationId, each]));
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  async function create(user: ApiClient, body: Partial<ApiTokenBody> = {}): Promise<NewApiToken> {
    const { body: answer } = await user.post<{ data: NewApiToken }>(
      TOKENS,
      { name: 'CI', scopes: ['write'], ...body },
      201,
    );
    return answer.data;
  }
  const by = (token: string) => uswarm.anonymous.with({ 'x-token': token });
  const program = async (user: ApiClient, body?: Partial<ApiTokenBody>) => by((await create(user, body)).token);
  const list = async (user: ApiClient) => (await user.get<{ data: ApiToken[] }>(TOKENS)).body.data;
  const auditOf = async (user: TestUser) =>
    uswarm.database
      .selectFrom('audit_log')
      .select(['action', 'actor', 'subject_id', 'details'])
      .where('user_id', '=', await uswarm.idOf(user))
      .where('action', 'like', 'api_token.%')
      .orderBy('id')
      .execute();

  async function internal(path: string, body: unknown) {
    const token = await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway');
    const answer = await request(`${uswarm.internalUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  }

  it('are shown once, listed without their secret, and stored as a hash', async () => {
    const user = await uswarm.user();
    const { token, ...shown } = await create(user, { name: 'Nightly  report', scopes: ['write', 'read', 'read'] });
    expect(shown).toMatchObject({
      name: 'Nightly report',
      scopes: ['read', 'write'],
      workspace_ids: null,
      last_used_at: null,
    });
    expect(await list(user)).toEqual([shown]);
    expect(await searchRows(uswarm.database, [token])).toEqual([]);
  });

  it('are accepted as X-Token and as a bearer token', async () => {
    const user = await uswarm.user();
    const { token } = await create(user, { scopes: ['read'] });
    const headers = [{ 'x-token': token }, { authorization: `Bearer ${token}` }];
    const profiles = await Promise.all(headers.map((each) => uswarm.anonymous.with(each).get(PROFILE)));
    expect(profiles.map(({ body }) => body)).toEqual(Array(2).fill((await user.get(PROFILE)).body));
  });

  it('expire after the default number of days, at most after the longest, and are refused then', async () => {
    const user = await uswarm.user();
    const { id, token, created_at: createdAt, expires_at: expiresAt } = await create(user);
    expect(Math.round((Date.parse(expiresAt) - Date.parse(createdAt)) / 3_600_000)).toBe(90 * 24);
    const late = new Date(Date.now() + 101 * 24 * 3_600_000).toISOString();
    expect(await user.refusal('POST', TOKENS, { name: 'CI', scopes: ['read'], expires_at: late })).toBe(
      'validation_failed',
    );
    await uswarm.database
      .updateTable('api_tokens')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('id', '=', id)
      .execute();
    expect(await by(token).refusal('GET', PROFILE)).toBe('token_expired');
    expect((await list(user)).map((each) => each.id)).toEqual([id]);
  });

  it('are refused if they were never issued: malformed, with a wrong checksum, or well-formed', async () => {
    const { token } = await create(await uswarm.user());
    const other = (at: number) => `${token.slice(0, at)}${token[at] === 'a' ? 'b' : 'a'}${token.slice(at + 1)}`;
    const texts = [other(token.length - 1), other(20), `${token}a`, token.slice(0, -1), 'uswarm_pat_'];
    expect(await Promise.all(texts.map((text) => by(text).refusal('GET', PROFILE)))).toEqual(
      texts.map(() => 'token_invalid'),
    );
    const unknown = `uswarm_pat_${'0'.repeat(40)}2kaqcA`;
    expect(await by(unknown).refusal('GET', PROFILE)).toBe('token_invalid');
  });

  it('are refused once they are revoked, and the gateways close their sockets', async () => {
    const user = await uswarm.user();
    const { id, token } = await create(user);
    const authenticated = await internal(INTERNAL_PATHS.authenticate, {
      credentials: { 'x-token': token },
      api_tokens: true,
    });
    const { user_id: userId, token_hash: hash, issued_at: issuedAt } = AuthenticateAnswer.parse(authenticated.body);
    await user.delete(`${TOKENS}/${id}`, undefined, 204);
    expect(await by(token).refusal('GET', PROFILE)).toBe('token_revoked');
    expect(await list(user)).toEqual([]);
    expect(await user.refusal('DELETE', `${TOKENS}/${id}`)).toBe('api_token_not_found');
    expect(await eventually(() => ended.find((end) => end.token_hash === hash))).toEqual({
      v: 1,
      user_id: userId,
      token_hash: hash,
      code: 'logged_out',
    });
    const sessions = [{ user_id: userId, token_hash: hash, issued_at: issuedAt }];
    expect(SessionsAnswer.parse((await internal(INTERNAL_PATHS.sessions, { sessions })).body)).toEqual({ ended: [0] });
  });

  it('cannot be revoked by another user', async () => {
    const [user, other] = [await uswarm.user(), await uswarm.user()];
    const { id, token } = await create(user);
    expect(await other.refusal('DELETE', `${TOKENS}/${id}`)).toBe('api_token_not_found');
    expect((await by(token).get(PROFILE)).status).toBe(200);
  });

  it('stay valid after a logout, also everywhere, with their sockets open', async () => {
    const user = await uswarm.user();
    const { token } = await create(user);
    const { body } = await internal(INTERNAL_PATHS.authenticate, {
      credentials: { 'x-token': token },
      api_tokens: true,
    });
    const { user_id: userId, token_hash: hash, issued_at: issuedAt } = AuthenticateAnswer.parse(body);
    await user.post('/v1/auth/logout-all', undefined, 204);
    expect(await user.refusal('GET', PROFILE)).toBe('token_revoked');
    expect((await by(token).get(PROFILE)).status).toBe(200);
    const sessions = [{ user_id: userId, token_hash: hash, issued_at: issuedAt }];
    expect(SessionsAnswer.parse((await internal(INTERNAL_PATHS.sessions, { sessions })).body)).toEqual({ ended: [] });
  });

  it('are refused for a banned user and for a deleted one', async () => {
    const [banned, deleted] = [await uswarm.user(), await uswarm.user()];
    const [first, second] = [await program(banned), await program(deleted)];
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', banned.email).execute();
    await deleted.delete('/v1/auth/delete', {}, 204);
    expect([await first.refusal('GET', PROFILE), await second.refusal('GET', PROFILE)]).toEqual([
      'user_banned',
      'token_invalid',
    ]);
  });

  it('are given only to gateways that keep sockets to what a token permits', async () => {
    const user = await uswarm.user();
    const { workspaceId } = await uswarm.home(user);
    const { token } = await create(user, { scopes: ['read'], workspace_ids: [workspaceId] });
    const credentials = { 'x-token': token };
    expect(await internal(INTERNAL_PATHS.authenticate, { credentials })).toMatchObject({
      status: 503,
      body: { code: 'service_unavailable' },
    });
    expect((await internal(INTERNAL_PATHS.authenticate, { credentials, api_tokens: true })).body).toMatchObject({
      access: { scopes: ['read'], workspace_ids: [workspaceId] },
    });
  });

  it('are limited in number, and expired ones make room', async () => {
    const user = await uswarm.user();
    const created = [];
    for (let n = 0; n < 50; n += 1) created.push(await create(user));
    expect(await user.refusal('POST', TOKENS, { name: 'CI', scopes: ['read'] })).toBe('api_token_limit_reached');
    const [oldest] = created;
    await uswarm.database
      .updateTable('api_tokens')
      .set({ expires_at: new Date(Date.now() - 1) })
      .where('id', '=', oldest?.id ?? '')
      .execute();
    const { id } = await create(user);
    const ids = (await list(user)).map((each) => each.id);
    expect({ first: ids[0], count: ids.length, hasExpired: ids.includes(oldest?.id ?? '') }).toEqual({
      first: id,
      count: 50,
      hasExpired: false,
    });
  });

  it('show their last use, which is not written with each request', async () => {
    const user = await uswarm.user();
    const { id, token } = await create(user);
    await by(token).get(PROFILE);
    const used = () => list(user).then(([first]) => first?.last_used_at ?? null);
    const first = await eventually(used, { until: (at) => at !== null });
    await by(token).get(PROFILE);
    const longAgo = new Date(Date.now() - 11 * 60_000);
    expect(await used()).toBe(first);
    await uswarm.database.updateTable('api_tokens').set({ last_used_at: longAgo }).where('id', '=', id).execute();
    await by(token).get(PROFILE);
    await eventually(used, { until: (at) => at !== longAgo.toISOString() });
  });

  it('are in the audit log when they are created, first used and revoked, without their name', async () => {
    const user = await uswarm.user();
    const { id, token, expires_at: expiresAt } = await create(user, { name: 'Secret plan', scopes: ['read'] });
    await Promise.all([by(token).get(PROFILE), by(token).get(PROFILE)]);
    await eventually(() => list(user), { until: ([first]) => first?.last_used_at !== null });
    await user.delete(`${TOKENS}/${id}`, undefined, 204);
    const entry = { actor: 'user', subject_id: id };
    const source = expect.any(String);
    expect(await auditOf(user)).toEqual([
      {
        ...entry,
        action: 'api_token.create',
        details: { scopes: ['read'], workspace_ids: null, expires_at: expiresAt, source },
      },
      { ...entry, action: 'api_token.first_use', details: { source } },
      { ...entry, action: 'api_token.revoke', details: { source } },
    ]);
  });

  it('cannot be limited to a workspace of another user', async () => {
    const [user, other] = [await uswarm.user(), await uswarm.user()];
    const { workspaceId } = await uswarm.home(other);
    const body = { name: 'CI', scopes: ['read'], workspace_ids: [workspaceId] };
    expect(await user.refusal('POST', TOKENS, body)).toBe('workspace_not_found');
  });

  it('reach nothing once their only workspace is deleted', async () => {
    const user = await uswarm.user();
    const { body } = await user.post<{ data: Workspace }>('/v1/workspaces', { name: 'Short' }, 201);
    const limited = await program(user, { workspace_ids: [body.data.id] });
    await user.delete(`/v1/workspaces/${body.data.id}`, undefined, 204);
    expect((await limited.get<{ data: Workspace[] }>('/v1/workspaces')).body.data).toEqual([]);
  });

  describe('on every route', () => {
    let owner: UserResources;
    let reader: ApiClient;
    let limited: ApiClient;
    let otherWorkspace: Workspace;
    beforeAll(async () => {
      owner = await createUserResources(uswarm, server);
      const conversations = `${owner.home.workspace}/conversations`;
      const { body } = await owner.user.post<{ data: Conversation }>(conversations, { type: 'swarm' }, 201);
      await storeCard(uswarm, { ...owner.home, conversationId: body.data.id }, owner.values[EXAMPLE.agentId] ?? '');
      reader = await program(owner.user, { scopes: ['read'] });
      otherWorkspace = (await owner.user.post<{ data: Workspace }>('/v1/workspaces', { name: 'Other' }, 201)).body.data;
      limited = await program(owner.user, { workspace_ids: [otherWorkspace.id] });
    });

    const rows = () => searchRows(uswarm.database, [owner.user.email, ...IDS.map((id) => owner.values[id] ?? '')]);
    async function sendAll(route: RouteDefinition, client: ApiClient, values: Values): Promise<SeenAnswer[]> {
      const operation = operations.get(route.operationId)!;
      const answers: SeenAnswer[] = [];
      for (const body of operation.bodies) {
        answers.push(await sendExample({ url: uswarm.url, client, operation, values, body }));
      }
      return answers;
    }
    const missing = (): Values => ({ ...owner.values, ...Object.fromEntries(IDS.map((id) => [id, randomUUIDv7()])) });
    const visible = ({ status, headers, body }: SeenAnswer) => ({
      status,
      body: JSON.stringify(body).replaceAll(String(headers['x-request-id']), 'request'),
    });

    const readable = CALLED.filter(({ scope }) => scope === 'read');
    it.each(readable.map((route) => [route.operationId, route] as const))(
      'a token to read may call %s',
      async (_id, route) => {
        const answers = await sendAll(route, reader, owner.values);
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      },
    );

    const refused = CALLED.filter(({ scope }) => scope !== 'read');
    it.each(refused.map((route) => [route.operationId, route] as const))(
      'a token to read may not call %s, which changes nothing',
      async (_id, route) => {
        const before = await rows();
        const answers = await sendAll(route, reader, owner.values);
        expect(answers.map(codeOf)).toEqual(answers.map(() => 'token_not_permitted'));
        expect(isDeepStrictEqual(await rows(), before)).toBe(true);
      },
    );

    const within = CALLED.filter(
      ({ scope, reach }) => scope !== 'session' && scope !== undefined && reach === undefined,
    );
    it.each(within.map((route) => [route.operationId, route] as const))(
      'a token for another workspace cannot tell with %s that the workspace and its objects exist',
      async (_id, route) => {
        const before = await rows();
        const existing = await sendAll(route, limited, owner.values);
        expect(existing.map(({ status }) => status)).toEqual(existing.map(() => 404));
        expect(existing.map(visible)).toEqual((await sendAll(route, limited, missing())).map(visible));
        expect(isDeepStrictEqual(await rows(), before)).toBe(true);
      },
    );

    const ofAccount = CALLED.filter(({ reach }) => reach === 'account');
    it.each(ofAccount.map((route) => [route.operationId, route] as const))(
      'a token for a workspace may not call %s, which concerns the whole account',
      async (_id, route) => {
        const answers = await sendAll(route, limited, owner.values);
        expect(answers.map(codeOf)).toEqual(answers.map(() => 'token_not_permitted'));
      },
    );

    const listing = CALLED.filter(({ reach }) => reach === 'listed');
    it.each(listing.map((route) => [route.operationId, route] as const))(
      'a token for a workspace sees with %s nothing of another one',
      async (_id, route) => {
        const [full] = await sendAll(route, reader, owner.values);
        const [part] = await sendAll(route, limited, owner.values);
        const texts = [full, part].map((answer) => JSON.stringify(answer?.body));
        expect(texts.map((text) => text.includes(owner.home.workspaceId))).toEqual([true, false]);
        expect(part?.status).toBe(200);
      },
    );

    it('a token for a workspace may write in it', async () => {
      const { body } = await limited.get<{ data: Workspace[] }>('/v1/workspaces');
      expect(body.data.map(({ id }) => id)).toEqual([otherWorkspace.id]);
      await limited.post(`/v1/workspaces/${otherWorkspace.id}/conversations`, { type: 'swarm' }, 201);
    });
  });
});
