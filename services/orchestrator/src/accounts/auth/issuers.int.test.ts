import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserProfile } from '@uswarm/contract';
import { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const SUBJECT = 'the-same-subject';
const PERSON = { email: 'ada@example.com', name: 'Ada', subject: SUBJECT };

describe('several issuers', () => {
  let apple: OidcIssuer;
  let google: OidcIssuer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    [apple, google] = await Promise.all([startOidcIssuer(), startOidcIssuer()]);
    uswarm = await startTestOrchestrator({
      environment: {
        OIDC_ISSUERS: JSON.stringify([
          { id: 'apple', issuer: apple.issuer, audience: 'ios-app' },
          { id: 'google', issuer: google.issuer, audience: ['android-app', DEVELOPMENT_CLIENT_ID] },
        ]),
      },
    });
  });
  afterAll(() => Promise.all([uswarm.close(), apple.close(), google.close()]));

  const as = async (issuer: OidcIssuer, audience: string, more: object = {}) =>
    uswarm.anonymous.with({ 'x-token': await issuer.issueToken({ ...PERSON, audience, ...more }) });

  it('authenticate their own users: the same subject of another issuer is another user', async () => {
    const [one, other] = [await as(apple, 'ios-app'), await as(google, 'android-app')];
    await one.post('/v1/auth/sign-up', undefined, 204);
    expect(await other.refusal('GET', PROFILE)).toBe('sign_up_required');
    await other.post('/v1/auth/sign-up', undefined, 204);
    const homes = [await uswarm.home(one), await uswarm.home(other)];
    expect(homes[0]?.workspaceId).not.toBe(homes[1]?.workspaceId);
    expect((await one.get<{ data: UserProfile }>(PROFILE)).body.data.idp_uid).toBe(SUBJECT);
  });

  it('each have their own audiences', async () => {
    const codes = await Promise.all([
      (await as(apple, 'android-app')).refusal('GET', PROFILE),
      (await as(google, 'ios-app')).refusal('GET', PROFILE),
      (await as(apple, DEVELOPMENT_CLIENT_ID)).refusal('GET', PROFILE),
    ]);
    expect(codes).toEqual(['token_invalid', 'token_invalid', 'token_invalid']);
    const second = await as(google, DEVELOPMENT_CLIENT_ID, { subject: 'other-user' });
    expect(await second.refusal('GET', PROFILE)).toBe('sign_up_required');
  });

  it('sign with their own keys: a token of one issuer that names the other is rejected', async () => {
    const forged = await as(apple, 'android-app', { issuer: google.issuer });
    expect(await forged.refusal('GET', PROFILE)).toBe('token_invalid');
  });

  it('are independent: while one is unavailable, users of the other are accepted', async () => {
    const [gone, there] = await Promise.all([startOidcIssuer(), startOidcIssuer()]);
    const token = await gone.issueToken(PERSON);
    const good = await there.issueToken(PERSON);
    await gone.close();
    const issuers = [gone, there].map(({ issuer }) => ({ issuer, audience: DEVELOPMENT_CLIENT_ID }));
    const second = await startTestOrchestrator({ environment: { OIDC_ISSUERS: JSON.stringify(issuers) } });
    try {
      expect(await second.anonymous.with({ 'x-token': token }).refusal('GET', PROFILE)).toBe('service_unavailable');
      expect(await second.anonymous.with({ 'x-token': good }).refusal('GET', PROFILE)).toBe('sign_up_required');
    } finally {
      await second.close();
      await there.close();
    }
  });
});
