import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ADMIN_CALLS, type AdminCall } from '@uswarm/contract';
import {
  DEVELOPMENT_CLIENT_ID,
  type KeyIssuer,
  type OidcIssuer,
  startKeyIssuer,
  startOidcIssuer,
} from '@uswarm/dev-servers';
import { parseSigningKey, signAdminToken } from '@uswarm/service-kit';
import { SignJWT, UnsecuredJWT } from 'jose';
import { ADMIN_KEY, createTestAdmin, type TestAdmin } from '../../../test/admin-client.js';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

const CALLS = Object.keys(ADMIN_CALLS) as AdminCall[];
const AUDIENCE = 'uswarmctl';
const OLIVIA = { email: 'olivia@example.com', name: 'Olivia', subject: 'olivia-at-work', audience: AUDIENCE };
const RULES = [
  { claim: 'groups', value: 'sre', rights: ['show', 'audit'] },
  { claim: 'groups', value: 'support', rights: ['show', 'ban'] },
  { claim: 'realm_access.roles', value: 'lawyer', rights: ['legal'] },
];
const BAN = { user_id: '01890000-0000-7000-8000-00000000dead', reason: 'spam' };

describe('operators whom an issuer signs in', () => {
  let company: OidcIssuer;
  let app: OidcIssuer;
  let keys: KeyIssuer;
  let uswarm: TestOrchestrator;
  let admin: TestAdmin;
  beforeAll(async () => {
    [company, app, keys] = await Promise.all([startOidcIssuer(), startOidcIssuer(), startKeyIssuer('ES256')]);
    const issuers = [
      { issuer: company.issuer, audience: AUDIENCE, rules: RULES },
      { issuer: app.issuer, audience: AUDIENCE, rules: RULES },
      { issuer: keys.issuer, audience: AUDIENCE, authorized_parties: ['kubelogin'], rules: RULES },
    ];
    uswarm = await startTestOrchestrator({
      environment: {
        OIDC_ISSUERS: JSON.stringify([{ id: 'test', issuer: app.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
        OPERATOR_ISSUERS: JSON.stringify(issuers),
        ADMIN_API_KEY: ADMIN_KEY,
      },
    });
    admin = createTestAdmin(uswarm);
  });
  afterAll(() => Promise.all([uswarm, company, app, keys].map((each) => each.close())));

  const tokenOf = (claims: Record<string, unknown>, more: object = {}) =>
    company.issueToken({ ...OLIVIA, claims, ...more });
  const inGroups = (...groups: string[]) => tokenOf({ groups });

  it('have the rights of the rules that match their claims', async () => {
    const sre = await inGroups('staff', 'sre');
    expect(await admin.call('user.show', { user: 'a@example.com' }, sre)).toEqual({ users: [] });
    expect(await admin.refusal('user.ban', BAN, sre)).toBe('operator_not_allowed');
    const both = await inGroups('support', 'sre');
    expect(await admin.refusal('user.ban', BAN, both)).toBe('user_not_found');
    expect(await admin.call('audit.list', {}, both)).toHaveProperty('entries');
    const lawyer = await tokenOf({ realm_access: { roles: ['lawyer'] } });
    expect(await admin.refusal('legal.publish', {}, lawyer)).toBe('validation_failed');
    expect(await admin.refusal('user.show', { user: 'a' }, lawyer)).toBe('operator_not_allowed');
  });

  it('may call nothing without a rule that matches, and nothing is stored', async () => {
    const token = await inGroups('staff');
    const before = await allRows(uswarm.database);
    for (const call of CALLS) expect(await admin.refusal(call, {}, token)).toBe('operator_not_allowed');
    expect(await allRows(uswarm.database)).toEqual(before);
  });

  it('are in the audit log with issuer and subject, beside machines with the name of their key', async () => {
    const sre = await inGroups('sre');
    await admin.call('legal.list', {}, sre);
    await admin.call('legal.list', {});
    const { entries } = await admin.call('audit.list', {}, sre);
    const actors = entries.filter(({ action }) => action === 'legal.list').map(({ actor }) => actor);
    expect(actors).toEqual(['olivia', `${company.issuer}#olivia-at-work`]);
  });

  it('cannot be imitated by the holder of a key', async () => {
    const name = `${company.issuer}#olivia-at-work`;
    const token = await signAdminToken(parseSigningKey(ADMIN_KEY), name);
    expect(await admin.refusal('legal.list', {}, token)).toBe('token_invalid');
  });

  it.each<[string, string, () => Promise<string>]>([
    ['a token for another audience', 'token_invalid', () => tokenOf({ groups: ['sre'] }, { audience: 'grafana' })],
    [
      'a token for the audience of the app',
      'token_invalid',
      () => tokenOf({ groups: ['sre'] }, { audience: DEVELOPMENT_CLIENT_ID }),
    ],
    ['an expired token', 'token_expired', () => tokenOf({ groups: ['sre'] }, { expiresInSeconds: -60 })],
    ['a token from the future', 'token_invalid', () => tokenOf({ groups: ['sre'] }, { issuedInSeconds: 3_600 })],
    ['a token for another client', 'token_invalid', () => tokenOf({ groups: ['sre'], azp: 'grafana' })],
    [
      'a token for several audiences without a client',
      'token_invalid',
      () => tokenOf({ groups: ['sre'] }, { audience: [AUDIENCE, 'grafana'] }),
    ],
    ['a logout token', 'token_invalid', () => tokenOf({ groups: ['sre'], events: {} })],
    [
      'a token of one issuer that names another',
      'token_invalid',
      () => tokenOf({ groups: ['sre'] }, { issuer: app.issuer }),
    ],
    [
      'a token of an unknown issuer',
      'token_invalid',
      () => tokenOf({ groups: ['sre'] }, { issuer: 'https://login.example.com' }),
    ],
    [
      'the ID token of a user of the app',
      'token_invalid',
      () => app.issueToken({ ...OLIVIA, audience: DEVELOPMENT_CLIENT_ID, claims: { groups: ['sre'] } }),
    ],
    [
      'a user token that also names the operators',
      'token_invalid',
      () =>
        app.issueToken({
          ...OLIVIA,
          audience: [DEVELOPMENT_CLIENT_ID, AUDIENCE],
          claims: { groups: ['sre'], azp: DEVELOPMENT_CLIENT_ID },
        }),
    ],
  ])('are not accepted with %s', async (_what, code, token) => {
    const bearer = await token();
    for (const call of CALLS) expect(await admin.refusal(call, {}, bearer)).toBe(code);
  });

  const unsigned = (): string =>
    new UnsecuredJWT({ groups: ['sre'] })
      .setIssuer(company.issuer)
      .setSubject('olivia-at-work')
      .setAudience(AUDIENCE)
      .setIssuedAt()
      .setExpirationTime('1h')
      .encode();

  it('are not accepted with a token without a signature', async () => {
    expect(await admin.refusal('legal.list', {}, unsigned())).toBe('token_invalid');
  });

  it('are not accepted with a token that a shared secret signs, even the key of a machine', async () => {
    const { id, secret } = parseSigningKey(ADMIN_KEY);
    const token = await new SignJWT({ groups: ['sre'] })
      .setProtectedHeader({ alg: 'HS256', kid: id })
      .setIssuer(company.issuer)
      .setSubject('olivia-at-work')
      .setAudience(['orchestrator-admin', AUDIENCE])
      .setExpirationTime('60s')
      .sign(secret);
    expect(await admin.refusal('legal.list', {}, token)).toBe('token_invalid');
  });

  it('can have an access token, for an audience that another client requested', async () => {
    const issue = (typ: string, azp: string) =>
      keys.issueToken({ claims: { aud: AUDIENCE, sub: 'olivia', azp, groups: ['sre'] }, header: { typ } });
    expect(await admin.call('user.show', { user: 'a' }, await issue('at+jwt', 'kubelogin'))).toEqual({ users: [] });
    expect(await admin.refusal('user.show', { user: 'a' }, await issue('at+jwt', 'grafana'))).toBe('token_invalid');
    expect(await admin.refusal('user.show', { user: 'a' }, await issue('logout+jwt', 'kubelogin'))).toBe(
      'token_invalid',
    );
  });

  it('cannot sign in to the app with the token', async () => {
    const token = await app.issueToken({ ...OLIVIA, claims: { groups: ['sre'] } });
    expect(await admin.call('user.show', { user: 'a' }, token)).toEqual({ users: [] });
    expect(await uswarm.anonymous.with({ 'x-token': token }).refusal('GET', '/v1/users/profile')).toBe('token_invalid');
  });

  it('stay operators when the issuer adds a key, and lose tokens of a key that it removes', async () => {
    const old = await inGroups('sre');
    await company.rotateKeys();
    expect(await admin.call('user.show', { user: 'a' }, await inGroups('sre'))).toEqual({ users: [] });
    expect(await admin.call('user.show', { user: 'a' }, old)).toEqual({ users: [] });
    await company.rotateKeys({ keepOld: false });
    expect(await admin.call('user.show', { user: 'a' }, await inGroups('sre'))).toEqual({ users: [] });
    expect(await admin.refusal('user.show', { user: 'a' }, old)).toBe('token_invalid');
  });
});

describe('an issuer of operators', () => {
  it('is sufficient, so that the admin API needs no key', async () => {
    const company = await startOidcIssuer();
    const issuers = [{ issuer: company.issuer, audience: AUDIENCE, rules: RULES }];
    const uswarm = await startTestOrchestrator({ environment: { OPERATOR_ISSUERS: JSON.stringify(issuers) } });
    const admin = createTestAdmin(uswarm);
    try {
      const token = await company.issueToken({ ...OLIVIA, claims: { groups: 'sre' } });
      expect(await admin.call('user.show', { user: 'a' }, token)).toEqual({ users: [] });
      const ofKey = await signAdminToken(parseSigningKey(ADMIN_KEY), 'olivia');
      expect(await admin.refusal('user.show', { user: 'a' }, ofKey)).toBe('token_invalid');
    } finally {
      await Promise.all([uswarm.close(), company.close()]);
    }
  });

  it('makes a token neither valid nor invalid while it is unavailable', async () => {
    const company = await startOidcIssuer();
    const issuers = [{ issuer: company.issuer, audience: AUDIENCE, rules: RULES }];
    const uswarm = await startTestOrchestrator({ environment: { OPERATOR_ISSUERS: JSON.stringify(issuers) } });
    try {
      const token = await company.issueToken({ ...OLIVIA, claims: { groups: 'sre' } });
      await company.close();
      expect(await createTestAdmin(uswarm).refusal('user.show', { user: 'a' }, token)).toBe('service_unavailable');
      const fetches = await uswarm.metrics.getSingleMetric('uswarm_jwks_fetches_total')?.get();
      expect(fetches?.values).toContainEqual(
        expect.objectContaining({
          labels: expect.objectContaining({ issuer: company.issuer, outcome: 'failed' }),
          value: 1,
        }),
      );
    } finally {
      await uswarm.close();
    }
  });
});
