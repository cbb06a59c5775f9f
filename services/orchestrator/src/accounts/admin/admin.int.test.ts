import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ADMIN_CALLS,
  type AdminCall,
  type LegalStatus,
  type SessionEnd,
  type UserUsageSummary,
} from '@uswarm/contract';
import { parseSigningKey, signAdminToken, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const CALLS = Object.keys(ADMIN_CALLS) as AdminCall[];
const UNKNOWN_ID = '01890000-0000-7000-8000-00000000dead';

describe('the operator API', () => {
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  const ended: SessionEnd[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { ADMIN_API_KEY: ADMIN_KEY } });
    admin = createTestAdmin(uswarm);
    await uswarm.bus.onSessionEnd((end) => void ended.push(end));
  });
  afterAll(() => uswarm.close());

  const auditOf = async (user_id: string) =>
    (await admin.call('audit.list', { user_id })).entries
      // Omit user actions and the audit entries for listing the log.
      .filter(({ actor, action }) => actor !== 'user' && action !== 'audit.list')
      .map(({ actor, action, details, subject_id }) => ({ actor, action, details, subject_id }));

  describe('the authentication of operators', () => {
    it.each<[string, () => string | Promise<string>]>([
      ['no token', () => ''],
      ['the ID token of a user', async () => (await uswarm.user()).token],
      ['the token of a gateway', () => signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway')],
      [
        'the token of a gateway that claims to be an operator',
        () => signAdminToken(parseSigningKey(uswarm.internalKey), 'olivia'),
      ],
      ['a service token signed with the operator key', () => signInternalToken(parseSigningKey(ADMIN_KEY), 'olivia')],
      [
        'a token signed with another secret',
        () => signAdminToken(parseSigningKey(`operators:${'x'.repeat(32)}`), 'olivia'),
      ],
    ])('rejects every call with %s, and stores nothing', async (_who, token) => {
      const bearer = await token();
      const before = await allRows(uswarm.database);
      for (const call of CALLS) expect(await admin.refusal(call, {}, bearer)).toBe('token_invalid');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('rejects every operator if no key is configured', async () => {
      const closed = await startTestOrchestrator();
      try {
        for (const call of CALLS) expect(await createTestAdmin(closed).refusal(call, {})).toBe('route_not_found');
      } finally {
        await closed.close();
      }
    });

    it('issues tokens that the internal routes of gateways reject', async () => {
      const token = await signAdminToken(parseSigningKey(uswarm.internalKey), UNKNOWN_ID);
      expect(await admin.refusal('../subscriptions', { workspace_ids: [] }, token)).toBe('token_invalid');
    });
  });

  describe('user.show', () => {
    it.each<[string, (user: TestUser, id: string, uid: string) => string]>([
      ['its id', (_user, id) => id],
      ['its e-mail address in any letter case', ({ email }) => email.toUpperCase()],
      ['its uid at the identity provider', (_user, _id, uid) => uid],
    ])('finds a user by %s', async (_what, named) => {
      const user = await uswarm.user();
      const id = await uswarm.idOf(user);
      const { subject } = await uswarm.database
        .selectFrom('users')
        .select('subject')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      const { users } = await admin.call('user.show', { user: named(user, id, subject) });
      expect(users).toMatchObject([
        { id, email: user.email, idp_uid: subject, issuer: 'test', is_banned: false, plan: 'free' },
      ]);
    });

    it('returns workspaces, devices and usage, and writes an audit entry', async () => {
      const user = await uswarm.user();
      const { workspaceId } = await uswarm.home(user);
      await user.with({ 'x-device-id': 'phone' }).post('/v1/push-token', { push_token: user.email }, 200);
      const { users } = await admin.call('user.show', { user: user.email });
      expect(users).toMatchObject([
        {
          workspaces: [{ id: workspaceId, name: 'My workspace', runtime: 'Pending' }],
          devices: [{ has_push_token: true }],
          usage: { tokens_used: 0, request_count: 0 },
        },
      ]);
      // Operators must not see the token.
      expect(JSON.stringify(users[0]?.devices)).not.toContain(user.email);
      expect(await auditOf(await uswarm.idOf(user))).toEqual([
        { actor: 'olivia', action: 'user.show', details: {}, subject_id: null },
      ]);
    });

    it.each(['unknown@example.com', UNKNOWN_ID, '%', "' OR true --"])('finds no user by %j', async (user) => {
      expect((await admin.call('user.show', { user })).users).toEqual([]);
    });

    it('does not find users by an empty address', async () => {
      expect(await admin.refusal('user.show', { user: '' })).toBe('validation_failed');
    });
  });

  describe('user.ban', () => {
    it('blocks the user, closes the sockets and writes an audit entry; user.unban reverts it', async () => {
      const user = await uswarm.user();
      const user_id = await uswarm.idOf(user);
      expect(await admin.call('user.ban', { user_id, reason: 'spam' })).toEqual({ changed: true });
      expect(await user.refusal('GET', '/v1/users/profile')).toBe('user_banned');
      const ends = await eventually(() => ended.filter((end) => end.user_id === user_id), {
        until: (found) => found.length > 0,
      });
      expect(ends).toEqual([{ v: 1, user_id, token_hash: null, code: 'user_banned' }]);
      expect(await admin.call('user.unban', { user_id })).toEqual({ changed: true });
      expect((await user.get('/v1/users/profile')).status).toBe(200);
      expect(await auditOf(user_id)).toMatchObject([
        { actor: 'olivia', action: 'user.unban', details: { reason: '', changed: true } },
        { actor: 'olivia', action: 'user.ban', details: { reason: 'spam', changed: true } },
      ]);
    });

    it('changes nothing when it is repeated, and closes the sockets again', async () => {
      const user_id = await uswarm.idOf(await uswarm.user());
      await admin.call('user.ban', { user_id });
      expect(await admin.call('user.ban', { user_id })).toEqual({ changed: false });
      const ends = await eventually(() => ended.filter((end) => end.user_id === user_id), {
        until: (found) => found.length > 1,
      });
      expect(ends).toHaveLength(2);
    });

    it.each(['user.ban', 'user.unban'])(
      '%s of an unknown user returns user_not_found and stores nothing',
      async (call) => {
        const before = await allRows(uswarm.database);
        expect(await admin.refusal(call, { user_id: UNKNOWN_ID })).toBe('user_not_found');
        expect(await allRows(uswarm.database)).toEqual(before);
      },
    );
  });

  describe('user.plan', () => {
    const planOf = async (user: TestUser) =>
      (await user.get<{ data: UserUsageSummary }>('/v1/users/usage/summary')).body.data.plan_id;

    it('changes the plan permanently or until an expiry', async () => {
      const user = await uswarm.user();
      const user_id = await uswarm.idOf(user);
      const expires_at = '2999-01-01T00:00:00.000Z';
      expect(await admin.call('user.plan', { user_id, plan: 'pro', expires_at })).toEqual({ plan: 'pro', expires_at });
      expect(await planOf(user)).toBe('pro');
      await admin.call('user.plan', { user_id, plan: 'free', expires_at: null, reason: 'asked for it' });
      expect(await planOf(user)).toBe('free');
      expect(await auditOf(user_id)).toMatchObject([
        { action: 'user.plan', details: { plan: 'free', expires_at: null, reason: 'asked for it' } },
        { action: 'user.plan', details: { plan: 'pro', expires_at } },
      ]);
    });

    it.each([
      ['validation_failed', { plan: 'platinum', expires_at: null }],
      ['validation_failed', { plan: 'pro', expires_at: '2020-01-01T00:00:00.000Z' }],
      ['validation_failed', { plan: 'pro' }],
      ['user_not_found', { plan: 'pro', expires_at: null, user_id: UNKNOWN_ID }],
    ])('returns %s for %j, and stores nothing', async (code, body) => {
      const user_id = await uswarm.idOf(await uswarm.user());
      const before = await allRows(uswarm.database);
      expect(await admin.refusal('user.plan', { user_id, ...body })).toBe(code);
      expect(await allRows(uswarm.database)).toEqual(before);
    });
  });

  describe('workspace.show', () => {
    it('returns runtime, counts and usage', async () => {
      const user = await uswarm.user();
      const home = await uswarm.home(user);
      await user.post(home.messages, { content: { type: 'text', text: 'hi' } }, 201);
      const shown = await admin.call('workspace.show', { workspace_id: home.workspaceId });
      expect(shown).toMatchObject({
        id: home.workspaceId,
        owner_id: await uswarm.idOf(user),
        runtime: { desired: 'running', phase: 'Pending', verified: false },
        agents: home.agents.length,
        conversations: 1,
        messages: 1,
        turns: { queued: 1, running: 0, failed: 0 },
        usage: { tokens_used: 0 },
      });
    });

    it('returns workspace_not_found for an unknown workspace', async () => {
      expect(await admin.refusal('workspace.show', { workspace_id: UNKNOWN_ID })).toBe('workspace_not_found');
    });
  });

  describe('legal.publish', () => {
    it('publishes a new version, which is listed first and must be accepted again', async () => {
      const user = await uswarm.user();
      const status = async () => (await user.get<{ data: LegalStatus }>('/v1/users/legal')).body.data;
      const { terms_of_service_version } = await status();
      await user.post('/v1/users/legal/accept', { terms_of_service_version }, 204);
      // Longer than the body limit for the gateway's internal routes.
      const document = { document: 'terms_of_service', version: '2026-12', content: 'ä'.repeat(500_000) } as const;
      expect(await admin.call('legal.publish', document)).toMatchObject({
        document: 'terms_of_service',
        version: '2026-12',
      });
      expect(await status()).toMatchObject({
        terms_of_service: document.content,
        terms_of_service_version: '2026-12',
        has_agreed_with_terms: false,
      });
      const { versions } = await admin.call('legal.list', {});
      expect(
        versions.filter(({ document: name }) => name === 'terms_of_service').map(({ version }) => version),
      ).toEqual(['2026-12', terms_of_service_version]);
    });

    it('rejects a published version and keeps its text', async () => {
      const document = { document: 'privacy_policy', version: 'once', content: 'first' } as const;
      await admin.call('legal.publish', document);
      const before = await allRows(uswarm.database);
      expect(await admin.refusal('legal.publish', { ...document, content: 'second' })).toBe('validation_failed');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it.each([
      [{ document: 'cookies', version: '1', content: 'x' }],
      [{ document: 'privacy_policy', version: 'a b', content: 'x' }],
      [{ document: 'privacy_policy', version: '9', content: '' }],
      [{ document: 'privacy_policy', version: '9', content: 'x\u0000' }],
    ])('rejects %j', async (body) => {
      expect(await admin.refusal('legal.publish', body)).toBe('validation_failed');
    });
  });

  it.each([
    ['legal.list', {}],
    ['turns.list', { status: 'failed' }],
    ['audit.list', {}],
    ['epoch.bump', { reason: 'restored a snapshot' }],
  ] as const)('%s writes an audit entry', async (call, body) => {
    await createTestAdmin(uswarm, 'reader').call(call, body);
    const rows = await uswarm.database
      .selectFrom('audit_log')
      .select(['actor', 'action'])
      .where('actor', '=', 'reader')
      .where('action', '=', call)
      .execute();
    expect(rows).toEqual([{ actor: 'reader', action: call }]);
  });

  it('audit.list returns the requested number of entries, newest first', async () => {
    const { entries } = await admin.call('audit.list', { limit: 3 });
    expect(entries).toHaveLength(3);
    const times = entries.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
  });
});
