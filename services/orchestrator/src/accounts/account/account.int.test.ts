import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserProfile, Workspace } from '@uswarm/contract';
import { rowsContaining, allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const SIGN_IN = '/v1/auth/sign-in';
const SIGN_UP = '/v1/auth/sign-up';

describe('accounts', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const workspaces = async (user: TestUser) => (await user.get<{ data: Workspace[] }>('/v1/workspaces')).body.data;
  const ban = (user: TestUser) =>
    uswarm.database.updateTable('users').set({ is_banned: true }).where('email', '=', user.email).execute();

  describe('sign-up', () => {
    it('REST-007 POST /v1/auth/sign-up returns 204 and creates a user', async () => {
      const identity = await uswarm.newIdentity();
      expect((await identity.post(SIGN_UP, undefined, 204)).body).toBeUndefined();
      const { body } = await identity.get<{ data: UserProfile }>('/v1/users/profile');
      expect(body.data).toMatchObject({ email: identity.email, name: identity.name });
    });

    it('CONV-006 creates a workspace with a manager, sub-agents and a swarm conversation, and requests its runtime', async () => {
      const { workspaceId, conversationId, agents } = await uswarm.home(await uswarm.user());
      const of = (table: 'agents' | 'conversations' | 'runtimes') =>
        uswarm.database.selectFrom(table).selectAll().where('workspace_id', '=', workspaceId).execute();
      const kinds = (await of('agents')).map((agent) => ('kind' in agent ? agent.kind : ''));
      expect(kinds.filter((kind) => kind === 'manager')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'sub-agent')).toHaveLength(agents.length - 1);
      expect(await of('conversations')).toMatchObject([{ id: conversationId, type: 'swarm', agent_id: null }]);
      expect(await of('runtimes')).toMatchObject([{ desired: 'running' }]);
    });

    it('changes nothing when it is repeated', async () => {
      const user = await uswarm.user();
      const before = await allRows(uswarm.database);
      await user.post(SIGN_UP, undefined, 204);
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('creates one user with one workspace for ten concurrent requests', async () => {
      const identity = await uswarm.newIdentity();
      await Promise.all(Array.from({ length: 10 }, () => identity.post(SIGN_UP, undefined, 204)));
      expect(await rowsContaining(uswarm.database, [identity.email])).toHaveLength(1);
      expect(await workspaces(identity)).toHaveLength(1);
    });

    it('shares nothing between two users', async () => {
      const [one, two] = [await uswarm.home(await uswarm.user()), await uswarm.home(await uswarm.user())];
      const ids = [one, two].flatMap((home) => [
        home.workspaceId,
        home.conversationId,
        ...home.agents.map(({ id }) => id),
      ]);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('accepts an identity without e-mail address and name', async () => {
      const subject = crypto.randomUUID();
      const token = await uswarm.issuer.issueToken({ email: '', name: '', subject });
      const identity = uswarm.anonymous.with({ 'x-token': token });
      await identity.post(SIGN_UP, undefined, 204);
      const { body } = await identity.get<{ data: UserProfile }>('/v1/users/profile');
      expect(body.data).toMatchObject({ idp_uid: subject, email: '', name: '' });
    });

    it('accepts names with characters that Postgres cannot store, and stores the others', async () => {
      const subject = crypto.randomUUID();
      const claims = { given_name: 'A\u0000da', family_name: '\ud800Lovelace', picture: 'https://example.com/\u0000a' };
      const token = await uswarm.issuer.issueToken({ email: '\u0000a@example.com', name: '\u0000', subject, claims });
      const identity = uswarm.anonymous.with({ 'x-token': token });
      await identity.post(SIGN_UP, undefined, 204);
      await identity.post(SIGN_IN, undefined, 204);
      const { body } = await identity.get<{ data: UserProfile }>('/v1/users/profile');
      expect(body.data).toMatchObject({ email: 'a@example.com', name: 'Ada', surname: '\ufffdLovelace' });
    });

    it('rejects a token whose subject Postgres cannot store', async () => {
      const token = await uswarm.issuer.issueToken({ email: '', name: '', subject: `\u0000${crypto.randomUUID()}` });
      expect(await uswarm.anonymous.with({ 'x-token': token }).refusal('POST', SIGN_UP)).toBe('token_invalid');
    });

    it('is rejected to a banned user', async () => {
      const user = await uswarm.user();
      await ban(user);
      expect(await user.refusal('POST', SIGN_UP)).toBe('user_banned');
    });
  });

  describe('sign-in', () => {
    it('REST-006 POST /v1/auth/sign-in returns 204 for a user', async () => {
      const user = await uswarm.user();
      expect((await user.post(SIGN_IN, undefined, 204)).body).toBeUndefined();
    });

    it('rejects an identity that never signed up, and stores nothing', async () => {
      const identity = await uswarm.newIdentity();
      const before = await allRows(uswarm.database);
      expect(await identity.refusal('POST', SIGN_IN)).toBe('user_not_found');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it('updates the e-mail address from the identity provider', async () => {
      const user = await uswarm.user();
      const subject = (await user.get<{ data: UserProfile }>('/v1/users/profile')).body.data.idp_uid;
      const email = `new-${user.email}`;
      const token = await uswarm.issuer.issueToken({ email, name: user.name, subject });
      const again = uswarm.anonymous.with({ 'x-token': token });
      await again.post(SIGN_IN, undefined, 204);
      expect((await again.get<{ data: UserProfile }>('/v1/users/profile')).body.data.email).toBe(email);
    });

    it('is rejected to a banned user', async () => {
      const user = await uswarm.user();
      await ban(user);
      expect(await user.refusal('POST', SIGN_IN)).toBe('user_banned');
    });
  });

  it('other routes return sign_up_required for an identity that never signed up', async () => {
    const identity = await uswarm.newIdentity();
    for (const path of ['/v1/users/profile', '/v1/workspaces']) {
      expect(await identity.refusal('GET', path)).toBe('sign_up_required');
    }
  });

  it('other routes return user_banned for a banned user', async () => {
    const user = await uswarm.user();
    const { workspace } = await uswarm.home(user);
    await ban(user);
    for (const path of ['/v1/users/profile', '/v1/workspaces', workspace]) {
      expect(await user.refusal('GET', path)).toBe('user_banned');
    }
  });
});
