import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserProfile, Workspace } from '@uswarm/contract';
import { rowsWith, storedRows } from '../../../test/stored.js';
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
    it('REST-007 POST /v1/auth/sign-up answers 204 and makes a user', async () => {
      const person = await uswarm.stranger();
      expect((await person.post(SIGN_UP, undefined, 204)).body).toBeUndefined();
      const { body } = await person.get<{ data: UserProfile }>('/v1/users/profile');
      expect(body.data).toMatchObject({ email: person.email, name: person.name });
    });

    it('CONV-006 gives a workspace, one manager with sub-agents, a swarm conversation and a requested runtime', async () => {
      const { workspaceId, conversationId, agents } = await uswarm.home(await uswarm.user());
      const of = (table: 'agents' | 'conversations' | 'runtimes') =>
        uswarm.database.selectFrom(table).selectAll().where('workspace_id', '=', workspaceId).execute();
      const kinds = (await of('agents')).map((agent) => ('kind' in agent ? agent.kind : ''));
      expect(kinds.filter((kind) => kind === 'manager')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'sub-agent')).toHaveLength(agents.length - 1);
      expect(await of('conversations')).toMatchObject([{ id: conversationId, type: 'swarm', agent_id: null }]);
      expect(await of('runtimes')).toMatchObject([{ desired: 'running' }]);
    });

    it('repeated, changes nothing', async () => {
      const user = await uswarm.user();
      const before = await storedRows(uswarm.database);
      await user.post(SIGN_UP, undefined, 204);
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('creates one user with one workspace for ten concurrent requests', async () => {
      const person = await uswarm.stranger();
      await Promise.all(Array.from({ length: 10 }, () => person.post(SIGN_UP, undefined, 204)));
      expect(await rowsWith(uswarm.database, [person.email])).toHaveLength(1);
      expect(await workspaces(person)).toHaveLength(1);
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

    it('takes an identity without e-mail and name', async () => {
      const subject = crypto.randomUUID();
      const token = await uswarm.issuer.issueToken({ email: '', name: '', subject });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post(SIGN_UP, undefined, 204);
      const { body } = await person.get<{ data: UserProfile }>('/v1/users/profile');
      expect(body.data).toMatchObject({ idp_uid: subject, email: '', name: '' });
    });

    it('is refused to a banned user', async () => {
      const user = await uswarm.user();
      await ban(user);
      expect(await user.refusal('POST', SIGN_UP)).toBe('user_banned');
    });
  });

  describe('sign-in', () => {
    it('REST-006 POST /v1/auth/sign-in answers 204 to a user', async () => {
      const user = await uswarm.user();
      expect((await user.post(SIGN_IN, undefined, 204)).body).toBeUndefined();
    });

    it('does not know who never signed up, and stores nothing', async () => {
      const person = await uswarm.stranger();
      const before = await storedRows(uswarm.database);
      expect(await person.refusal('POST', SIGN_IN)).toBe('user_not_found');
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it('follows a change of the e-mail address at the identity provider', async () => {
      const user = await uswarm.user();
      const subject = (await user.get<{ data: UserProfile }>('/v1/users/profile')).body.data.idp_uid;
      const email = `new-${user.email}`;
      const token = await uswarm.issuer.issueToken({ email, name: user.name, subject });
      const again = uswarm.anonymous.with({ 'x-token': token });
      await again.post(SIGN_IN, undefined, 204);
      expect((await again.get<{ data: UserProfile }>('/v1/users/profile')).body.data.email).toBe(email);
    });

    it('is refused to a banned user', async () => {
      const user = await uswarm.user();
      await ban(user);
      expect(await user.refusal('POST', SIGN_IN)).toBe('user_banned');
    });
  });

  it('a valid identity that never signed up gets sign_up_required everywhere else', async () => {
    const person = await uswarm.stranger();
    for (const path of ['/v1/users/profile', '/v1/workspaces']) {
      expect(await person.refusal('GET', path)).toBe('sign_up_required');
    }
  });

  it('a banned user gets user_banned everywhere else', async () => {
    const user = await uswarm.user();
    const { workspace } = await uswarm.home(user);
    await ban(user);
    for (const path of ['/v1/users/profile', '/v1/workspaces', workspace]) {
      expect(await user.refusal('GET', path)).toBe('user_banned');
    }
  });
});
