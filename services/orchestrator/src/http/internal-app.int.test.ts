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
import { SignJWT } from 'jose';
import { request } from 'undici';
import { eventually } from '../../test/eventually.js';
import { storedRows } from '../../test/stored.js';
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
    userId = await idOf(user);
  });
  afterAll(() => uswarm.close());

  const idOf = async ({ email }: TestUser) =>
    (await uswarm.database.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()).id;

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
    it.each(Object.values(INTERNAL_PATHS))('%s wants one', async (path) => {
      expect(await refusal({ path, body: {}, token: '' })).toBe('token_invalid');
    });

    it.each<[string, () => string | Promise<string>]>([
      ['garbage', () => 'garbage'],
      ['an ID token of the user', () => user.token],
      ['another secret', () => signInternalToken(parseSigningKey(`test:${'x'.repeat(32)}`), userId)],
      ['another key id', () => signInternalToken({ ...parseSigningKey(uswarm.internalKey), id: 'other' }, userId)],
      [
        'a token for tools',
        () => signMcpToken(parseSigningKey(uswarm.internalKey), { workspaceId: userId, agentId: 'a', turnId: 't' }),
      ],
      ['one that has expired', () => expired()],
      [
        'one that never expires',
        () =>
          new SignJWT()
            .setProtectedHeader({ alg: 'HS256', kid: 'test' })
            .setSubject(userId)
            .setAudience('orchestrator-internal')
            .sign(parseSigningKey(uswarm.internalKey).secret),
      ],
    ])('%s is refused, and nothing is stored', async (_what, token) => {
      const before = await storedRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), token: await token() })).toBe('token_invalid');
      expect(await storedRows(uswarm.database)).toEqual(before);
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

    it('names the user of an ID token, and when the token expires', async () => {
      const answer = AuthenticateAnswer.parse((await call(authenticate({ 'x-token': user.token }))).body);
      const claims = JSON.parse(Buffer.from(user.token.split('.')[1] ?? '', 'base64url').toString()) as {
        exp: number;
        iat: number;
      };
      expect(answer).toEqual({
        user_id: userId,
        expires_at: new Date(claims.exp * 1000).toISOString(),
        token_hash: tokenHash(user.token).toString('hex'),
        issued_at: new Date(claims.iat * 1000).toISOString(),
      });
    });

    it('takes a bearer token and the bypass as HTTP does; the bypass never expires', async () => {
      const bearer = AuthenticateAnswer.parse(
        (await call(authenticate({ authorization: `Bearer ${user.token}` }))).body,
      );
      const robot = AuthenticateAnswer.parse(
        (await call(authenticate({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': 'r' }))).body,
      );
      expect([bearer.user_id, robot.expires_at, robot.token_hash]).toEqual([userId, null, null]);
    });

    it.each([
      ['token_missing', {}],
      ['token_invalid', { 'x-token': 'garbage' }],
      ['validation_failed', { 'x-token': 7 }],
      ['validation_failed', { cookie: 'x' }],
    ])('answers %s to %j', async (code, credentials) => {
      expect(await refusal(authenticate(credentials))).toBe(code);
    });

    it('answers sign_up_required to who never signed up', async () => {
      const { token } = await uswarm.stranger();
      expect(await refusal(authenticate({ 'x-token': token }))).toBe('sign_up_required');
    });
  });

  it('sessions tells which have ended: of a token logged out, of a user banned or gone', async () => {
    const [good, loggedOut, banned, gone] = [
      await uswarm.user(),
      await uswarm.user(),
      await uswarm.user(),
      await uswarm.user(),
    ];
    const people = [good, loggedOut, banned, gone];
    const sessions = await Promise.all(
      people.map(async (person) => ({
        user_id: await idOf(person),
        token_hash: tokenHash(person.token).toString('hex') as string | null,
      })),
    );
    // The same users by a credential that cannot be logged out.
    sessions.push(...sessions.map(({ user_id }) => ({ user_id, token_hash: null })));
    await loggedOut.post('/v1/auth/logout', undefined, 204);
    await uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', banned.email).execute();
    await gone.delete('/v1/auth/delete', {}, 204);
    const answer = await call({ path: INTERNAL_PATHS.sessions, body: { sessions }, subject: 'gateway' });
    expect(SessionsAnswer.parse(answer.body)).toEqual({ ended: [1, 2, 3, 6, 7] });
  });

  it('subscriptions accepts own workspaces with their last seq, and rejects the rest', async () => {
    const stranger = await uswarm.home(await uswarm.user());
    const ids = [home.workspaceId, stranger.workspaceId, crypto.randomUUID(), 'nothing'];
    const { last_seq } = await uswarm.database
      .selectFrom('workspaces')
      .select('last_seq')
      .where('id', '=', home.workspaceId)
      .executeTakeFirstOrThrow();
    const answer = await call({ path: INTERNAL_PATHS.subscriptions, body: { workspace_ids: ids } });
    expect(SubscriptionsAnswer.parse(answer.body)).toEqual({
      accepted: [{ workspace_id: home.workspaceId, last_seq }],
      rejected: ids.slice(1).map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' })),
    });
  });

  describe('send', () => {
    it('stores a message of the user that the token names, on the one path that REST takes', async () => {
      const body = send();
      const { message_id } = SendAnswer.parse((await call({ path: INTERNAL_PATHS.send, body })).body);
      const { local_id, content } = body;
      const again = await user.post<{ data: { id: string } }>(home.messages, { local_id, content }, 201);
      expect(again.body.data.id).toBe(message_id);
    });

    it('answers a repetition with the first message', async () => {
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
    ])('answers %s, and stores nothing', async (code, body) => {
      await call({
        path: INTERNAL_PATHS.send,
        body: send({ local_id: 'taken', content: { type: 'text', text: 'first' } }),
      });
      const before = await storedRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: body() })).toBe(code);
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('in the name of another user finds no workspace of this one', async () => {
      const subject = await idOf(await uswarm.user());
      const before = await storedRows(uswarm.database);
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), subject })).toBe('workspace_not_found');
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('with a token whose subject is no user is refused', async () => {
      expect(await refusal({ path: INTERNAL_PATHS.send, body: send(), subject: 'gateway' })).toBe('token_invalid');
    });
  });

  describe('a user that connected, and then', () => {
    const ways: [string, string, (user: TestUser, id: string) => Promise<unknown>][] = [
      [
        'was banned',
        'user_banned',
        (_user, id) => uswarm.database.updateTable('users').set({ is_banned: true }).where('id', '=', id).execute(),
      ],
      ['deleted the account', 'user_deleted', (leaving) => leaving.delete('/v1/auth/delete', {}, 204)],
    ];

    it.each(ways)('%s, is refused with %s, and nothing is stored', async (_what, code, loseAccess) => {
      const other = await uswarm.user();
      const { workspaceId, conversationId } = await uswarm.home(other);
      const subject = await idOf(other);
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
      const before = await storedRows(uswarm.database);
      for (const late of calls()) expect(await refusal(late)).toBe(code);
      expect(await storedRows(uswarm.database)).toEqual(before);
    });
  });

  it('other paths are not found', async () => {
    expect(await refusal({ path: '/internal/v1/other', body: {} })).toBe('route_not_found');
  });

  it('is measured by what is asked', async () => {
    const body = { workspace_ids: [home.workspaceId] };
    await call({ path: INTERNAL_PATHS.subscriptions, body });
    const labels = 'route="internalSubscriptions",method="POST",status="2xx"';
    const counted = () => uswarm.metrics.getSingleMetricAsString('uswarm_http_request_duration_seconds');
    expect(await eventually(counted, (text) => text.includes(labels))).toContain(labels);
  });
});
