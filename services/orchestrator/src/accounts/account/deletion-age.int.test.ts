import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const DELETE = '/v1/auth/delete';

describe('an account deletion with DELETION_MAX_AUTH_AGE_S', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ bypass: true, environment: { DELETION_MAX_AUTH_AGE_S: '600' } });
  });
  afterAll(() => uswarm.close());

  async function signedIn(claims: Record<string, unknown>) {
    const { email, name } = await uswarm.user();
    return uswarm.anonymous.with({ 'x-token': await uswarm.issuer.issueToken({ email, name, claims }) });
  }
  const secondsAgo = (seconds: number) => Math.floor(Date.now() / 1000) - seconds;

  it.each([
    ['a sign-in that is too old', () => ({ auth_time: secondsAgo(700) })],
    ['a token without auth_time', () => ({})],
    ['an auth_time that is not a number', () => ({ auth_time: 'now' })],
  ])('rejects %s with reauthentication_required, and deletes nothing', async (_what, claims) => {
    const user = await signedIn(claims());
    expect(await user.refusal('DELETE', DELETE)).toBe('reauthentication_required');
    expect((await user.get('/v1/users/profile')).status).toBe(200);
  });

  it('accepts a recent sign-in', async () => {
    const user = await signedIn({ auth_time: secondsAgo(10) });
    expect((await user.delete(DELETE, {}, 204)).status).toBe(204);
  });

  it('does not apply to the end-to-end bypass, which has no sign-in', async () => {
    const robot = uswarm.anonymous.with({ 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': crypto.randomUUID() });
    expect((await robot.delete(DELETE, {}, 204)).status).toBe(204);
  });
});
