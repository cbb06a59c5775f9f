import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserProfile } from '@uswarm/contract';
import { allRows } from '../../../test/database-rows.js';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const as = (uid: string, token = E2E_TOKEN) => ({
  'x-e2e-token': token,
  'x-e2e-uid': uid,
  'x-e2e-email': `${uid}@ci.example.com`,
  'x-e2e-name': `Robot ${uid}`,
});

describe('the enabled end-to-end bypass', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true });
  });
  afterAll(() => uswarm.close());

  it('AUTH-003 the four headers authenticate, and an unknown user is created', async () => {
    const uid = crypto.randomUUID();
    const { body } = await uswarm.anonymous.with(as(uid)).get<{ data: UserProfile }>(PROFILE);
    expect(body.data).toMatchObject({ idp_uid: uid, email: `${uid}@ci.example.com`, name: `Robot ${uid}` });
  });

  it('AUTH-005 sign-in with a valid bypass token returns 204', async () => {
    const { status } = await uswarm.anonymous.with(as(crypto.randomUUID())).post('/v1/auth/sign-in', undefined, 204);
    expect(status).toBe(204);
  });

  it('the other account routes accept it too', async () => {
    const robot = uswarm.anonymous.with(as(crypto.randomUUID()));
    await robot.post('/v1/auth/sign-up', undefined, 204);
    expect((await robot.delete('/v1/auth/delete', {}, 204)).status).toBe(204);
  });

  it('each uid identifies one user', async () => {
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const home = (uid: string) => uswarm.home(uswarm.anonymous.with(as(uid)));
    const { workspaceId } = await home(one);
    expect((await home(one)).workspaceId).toBe(workspaceId);
    expect((await home(other)).workspaceId).not.toBe(workspaceId);
  });

  it('creates one user for many concurrent requests of a new uid', async () => {
    const robot = uswarm.anonymous.with(as(crypto.randomUUID()));
    const seen = await Promise.all(Array.from({ length: 10 }, () => uswarm.home(robot)));
    expect(new Set(seen.map(({ workspaceId }) => workspaceId)).size).toBe(1);
  });

  it('its users are separate from those of the identity provider, even with the same uid', async () => {
    const user = await uswarm.user();
    const { idp_uid } = (await user.get<{ data: UserProfile }>(PROFILE)).body.data;
    const robot = await uswarm.home(uswarm.anonymous.with(as(idp_uid)));
    expect(robot.workspaceId).not.toBe((await uswarm.home(user)).workspaceId);
  });

  it.each([
    ['a wrong token', as('u', `${E2E_TOKEN.slice(0, -1)}x`)],
    ['a part of the token', as('u', E2E_TOKEN.slice(0, -1))],
    ['no uid', { 'x-e2e-token': E2E_TOKEN }],
  ])('AUTH-003 rejects %s and creates no user', async (_what, headers) => {
    const before = await allRows(uswarm.database);
    expect(await uswarm.anonymous.with(headers).refusal('GET', PROFILE)).toBe('token_invalid');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('a wrong bypass token is rejected even with a valid ID token', async () => {
    const { token } = await uswarm.user();
    const headers = { ...as('u', 'wrong'), 'x-token': token };
    expect(await uswarm.anonymous.with(headers).refusal('GET', PROFILE)).toBe('token_invalid');
  });
});

describe('the disabled end-to-end bypass', () => {
  it('AUTH-003 the headers are ignored', async () => {
    const uswarm = await startTestOrchestrator();
    try {
      const robot = uswarm.anonymous.with(as('u'));
      expect(await robot.refusal('GET', PROFILE)).toBe('token_missing');
      expect(await robot.refusal('POST', '/v1/auth/sign-in')).toBe('token_missing');
      const user = await uswarm.user();
      expect((await user.with(as('u')).get<{ data: UserProfile }>(PROFILE)).body.data.email).toBe(user.email);
    } finally {
      await uswarm.close();
    }
  });
});
