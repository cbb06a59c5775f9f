import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AuthenticateAnswer,
  ErrorBody,
  INTERNAL_PATHS,
  SendAnswer,
  SessionsAnswer,
  SubscriptionsAnswer,
} from '@uswarm/contract';
import { parseSigningKey, signInternalToken, signMcpToken, tokenHash } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { SignJWT } from 'jose';
import { request } from 'undici';
import { allRows } from '../../test/database-rows.js';
import {
  E2E_TOKEN,
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

describe('the internal API', () => {
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let userId: string;
  let home: Home;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
    user = await uswarm.user();
    home = await uswarm.home(user);
    userId = await uswarm.idOf(user);
  });
  afterAll(() => uswarm.close());

  interface Call {
    path: string;
    body: unknown;
    token?: string;
    subject?: string;
  }
  async function call({ path, body, token, subject = userId }: Call) {
    const bearer = token ?? (await signInternalToken(parseSigningKey(uswarm.internalKey), subject));
    const answer = await request(`${uswarm.internalUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(bearer === '' ? {} : { authorization: `Bearer ${bearer}` }) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.statusCode, requestId: answer.headers['x-request-id'], body: await answer.body.json() };
  }
  async function refusal(sent: Call): Promise<string> {
    const answer = await call(sent);
    const { code, extra } = ErrorBody.parse(answer.body);
    expect(extra?.request_id).toBe(answer.requestId);
    return code;
  }
  const send = (more: object = {}) => ({
    workspace_id: home.workspaceId,
    conversation_id: home.conversationId,
    local_id: crypto.randomUUID(),
    content: { type: 'text', text: 'hi' },
    mentions: [],
    attachments: [],
    ...more,
  });

  describe('service tokens', () => {
    it.each(Object.values(INTERNAL_PATHS))('%s requires a service token', async (path) => {
      expect(await refusal({ path, body: {}, token: '' })).toBe('token_invalid');
    });

    it.each<[string, () => string | Promise<string>]>([
      ['garbage', () => 'garbage'],
      ['an ID token of the user', () => user.token],
      ['another secret', () => signInternalToken(parseSigningKey(`test:${'x'.repeat(32)}`), userId)],
      ['another key id', () => signInternalToken({ ...parseSigningKey(uswarm.internalKey), id: 'other' }, userId)],
      [
        'a tool token',
        () => signMcpToken(parseSigningKey(uswarm.internalKey), { workspaceId: userId, agentId: 'a', turnId: 't' }),
      ],
      ['an expired token', () => expired()],
      [
        'a token without expiry',
        () =>
          new SignJWT()
            .setProtectedHeader({ alg: 'HS256', kid: 'test' })
            .setSubject(userId)
            .setAudience('orchestrator-internal')
            .sign(parseSigningKey(uswarm.internalKey).secret),
      ],
    ])('a call with %s instead of a service token is rejected, and nothing is stored', async (_what, token) => {
      const before = await allRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), token: await token() })).toBe('token_invalid');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it.each<[string, string, () => string | Promise<string>]>([
      ['expired', 'an expired token', () => expired()],
      ['invalid', 'another secret', () => signInternalToken(parseSigningKey(`test:${'x'.repeat(32)}`), userId)],
      ['invalid', 'no token', () => ''],
    ])('a refusal states that the service token is %s for %s', async (service_token, _what, token) => {
      const { status, body } = await call({ path: INTERNAL_PATHS.authenticate, body: {}, token: await token() });
      expect({ status, extra: ErrorBody.parse(body).extra }).toMatchObject({ status: 401, extra: { service_token } });
    });

    it('a refusal of the token of a user does not mention the service token', async () => {
      const body = { credentials: { 'x-token': 'garbage' } };
      const answer = await call({ path: INTERNAL_PATHS.authenticate, body, subject: 'gateway' });
      expect(ErrorBody.parse(answer.body)).toMatchObject({ code: 'token_invalid' });
      expect(answer.body).not.toHaveProperty('extra.service_token');
    });

    it('a gateway can check its token', async () => {
      const answer = await call({ path: INTERNAL_PATHS.serviceToken, body: {}, subject: 'gateway' });
      expect(answer).toMatchObject({ status: 200, body: {} });
    });

    const expired = () =>
      new SignJWT()
        .setProtectedHeader({ alg: 'HS256', kid: 'test' })
        .setSubject(userId)
        .setAudience('orchestrator-internal')
        .setExpirationTime('-1m')
        .sign(parseSigningKey(uswarm.internalKey).secret);
  });

  describe('authenticate', () => {
    const authenticate = (credentials: object) => ({
      path: INTERNAL_PATHS.authenticate,
      body: { credentials },
      subject: 'gateway',
    });

    it('returns the user and the expiry of an ID token', async () => {
      const answer = AuthenticateAnswer.parse((await call(authenticate({ 'x-token': user.token }))).body);
      const claims = JSON.parse(Buffer.from(user.token.split('.')[1] ?? '', 'base64url').toString()) as {
        exp: number;
        iat: number;
      };
      expect(answer).toEqual({
        user_id: userId,
        expires_at: new Date(claims.exp * 1000).toISOString(),
        access: null,
        expires_in_ms: expect.any(Number),
        token_hash: tokenHash(user.token).toString('hex'),
        issued_at: new Date(claims.iat * 1000).toISOString(),
      });
    });

    it('accepts a bearer token, and the bypass without expiry', async () => {
      const bearer = AuthenticateAnswer.parse(
        (await call(authenticate({ authorization: `Bearer ${user.token}` }))).body,
      );
      const robot = AuthenticateAnswer.parse(
        (await call(authenticate({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': 'r' }))).body,
      );
      expect(bearer.user_id).toBe(userId);
      expect(robot).toMatchObject({ expires_at: null, token_hash: null });
    });

    it.each([
      ['token_missing', {}],
      ['token_invalid', { 'x-token': 'garbage' }],
      ['validation_failed', { 'x-token': 7 }],
      ['validation_failed', { cookie: 'x' }],
    ])('returns %s for %j', async (code, credentials) => {
      expect(await refusal(authenticate(credentials))).toBe(code);
    });

    it('returns sign_up_required for an identity that has not signed up', async () => {
      const { token } = await uswarm.newIdentity();
      expect(await refusal(authenticate({ 'x-token': token }))).toBe('sign_up_required');
    });
  });

  it('sessions returns the sessions of revoked tokens and of banned or deleted users', async () => {
    const [active, loggedOut, banned, deleted] = [
      await uswarm.user(),
      await uswarm.user(),
      await uswarm.user(),
      await uswarm.user(),
    ];
    const sessions = await Promise.all(
      [active, loggedOut, banned, deleted].map(async (each) => ({
        user_id: await uswarm.idOf(each),
        token_hash: tokenHash(each.token).toString('hex') as string | null,
      })),
    );
    // The same users with a credential that cannot be revoked.
    sessions.push(...sessions.map(({ user_id }) => ({ user_id, token_hash: null })));
    await loggedOut.post('/v1/auth/logout', undefined, 204);
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', banned.email).execute();
    await deleted.delete('/v1/auth/delete', {}, 204);
    const answer = await call({ path: INTERNAL_PATHS.sessions, body: { sessions }, subject: 'gateway' });
    expect(SessionsAnswer.parse(answer.body)).toEqual({ ended: [1, 2, 3, 6, 7] });
  });

  it('subscriptions accepts workspaces of the user with their position and state, and rejects all others', async () => {
    const foreign = await uswarm.home(await uswarm.user());
    const ids = [home.workspaceId, foreign.workspaceId, crypto.randomUUID(), 'nothing'];
    const { last_seq } = await uswarm.database
      .selectFrom('workspaces')
      .select('last_seq')
      .where('id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
    const answer = await call({ path: INTERNAL_PATHS.subscriptions, body: { workspace_ids: ids } });
    expect(SubscriptionsAnswer.parse(answer.body)).toEqual({
      accepted: [
        {
          workspace_id: home.workspaceId,
          last_seq,
          epoch: expect.stringMatching(/^[a-z0-9]{1,32}$/),
          agents: home.agents.map(({ id }) => ({ agent_id: id, status: 'pending', until_ms: null })),
          streams: [],
        },
      ],
      rejected: ids.slice(1).map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' })),
    });
  });

  it('subscriptions of many clients at a time accept only workspaces of their user', async () => {
    const other = await uswarm.user();
    const foreign = await uswarm.home(other);
    const [owners, ids] = [
      [userId, await uswarm.idOf(other)],
      [home.workspaceId, foreign.workspaceId],
    ];
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const subject = owners[index % 2]!;
        return (await call({ path: INTERNAL_PATHS.subscriptions, body: { workspace_ids: ids }, subject })).body;
      }),
    );
    const accepted = answers.map((answer) =>
      SubscriptionsAnswer.parse(answer).accepted.map(({ workspace_id }) => workspace_id),
    );
    expect(accepted).toEqual(answers.map((_, index) => [ids[index % 2]]));
  });

  describe('send', () => {
    it('stores a message of the user in the token, for which REST returns the same message', async () => {
      const body = send();
      const { message_id } = SendAnswer.parse((await call({ path: INTERNAL_PATHS.send, body })).body);
      const { local_id, content } = body;
      const again = await user.post<{ data: { id: string } }>(home.messages, { local_id, content }, 201);
      expect(again.body.data.id).toBe(message_id);
    });

    it('returns the first message for a retry', async () => {
      const body = send();
      const answers = [
        await call({ path: INTERNAL_PATHS.send, body }),
        await call({ path: INTERNAL_PATHS.send, body }),
      ];
      expect(answers[1]?.body).toEqual(answers[0]?.body);
    });

    it.each<[string, () => unknown]>([
      ['local_id_reused', () => send({ local_id: 'taken', content: { type: 'text', text: crypto.randomUUID() } })],
      ['workspace_not_found', () => send({ workspace_id: crypto.randomUUID() })],
      ['workspace_not_found', () => send({ workspace_id: 'x' })],
      ['conversation_not_found', () => send({ conversation_id: crypto.randomUUID() })],
      ['conversation_not_found', () => send({ conversation_id: 'x' })],
      ['validation_failed', () => send({ local_id: undefined })],
      ['validation_failed', () => send({ local_id: 'a\u0000' })],
      ['validation_failed', () => send({ content: { type: 'text', text: '\ud800' } })],
      ['content_type_not_allowed', () => send({ content: { type: 'loading' } })],
      ['malformed_json', () => '{'],
      ['payload_too_large', () => JSON.stringify(send()).padEnd(600_000)],
    ])('returns %s and stores nothing', async (code, body) => {
      await call({
        path: INTERNAL_PATHS.send,
        body: send({ local_id: 'taken', content: { type: 'text', text: 'first' } }),
      });
      const before = await allRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: body() })).toBe(code);
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('returns workspace_not_found for the workspace of another user', async () => {
      const subject = await uswarm.idOf(await uswarm.user());
      const before = await allRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), subject })).toBe('workspace_not_found');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('rejects a token whose subject is not a user', async () => {
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), subject: 'gateway' })).toBe('token_invalid');
    });
  });

  describe('a connected user', () => {
    const endings: [string, string, (user: TestUser, id: string) => Promise<unknown>][] = [
      [
        'was banned',
        'user_banned',
        (_user, id) => uswarm.database.updateTable('users').set({ is_banned: true }).where('id', '=', id).execute(),
      ],
      ['deleted the account', 'user_deleted', (client) => client.delete('/v1/auth/delete', {}, 204)],
    ];

    it.each(endings)(
      'a connected user who %s is rejected with %s, and nothing is stored',
      async (_what, code, loseAccess) => {
        const other = await uswarm.user();
        const { workspaceId, conversationId } = await uswarm.home(other);
        const subject = await uswarm.idOf(other);
        const calls = () => [
          { path: INTERNAL_PATHS.subscriptions, body: { workspace_ids: [workspaceId] }, subject },
          {
            path: INTERNAL_PATHS.send,
            body: send({ workspace_id: workspaceId, conversation_id: conversationId }),
            subject,
          },
        ];
        for (const allowed of calls()) expect((await call(allowed)).status).toBe(200);
        await loseAccess(other, subject);
        const before = await allRows(uswarm.database);
        for (const late of calls()) expect(await refusal(late)).toBe(code);
        expect(await allRows(uswarm.database)).toEqual(before);
      },
    );
  });

  it('returns route_not_found for unknown paths', async () => {
    expect(await refusal({ path: '/internal/v1/other', body: {} })).toBe('route_not_found');
  });

  it('observes the duration of requests by route', async () => {
    const body = { workspace_ids: [home.workspaceId] };
    await call({ path: INTERNAL_PATHS.subscriptions, body });
    const labels = 'route="internalSubscriptions",method="POST",status="2xx"';
    const counted = () => uswarm.metrics.getSingleMetricAsString('uswarm_http_request_duration_seconds');
    expect(await eventually(counted, { until: (text) => text.includes(labels) })).toContain(labels);
  });
});
