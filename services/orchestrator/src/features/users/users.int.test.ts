import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UserProfile } from '@uswarm/contract';
import { storedRows } from '../../../test/stored.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe('users', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { LEGAL_VERSION: '7' } });
  });
  afterAll(() => uswarm.close());

  const profile = async (user: TestUser) => (await user.get<{ data: UserProfile }>(PROFILE)).body.data;
  const set = (user: TestUser, values: Record<string, unknown>) =>
    uswarm.database.updateTable('users').set(values).where('email', '=', user.email).execute();

  describe('the profile', () => {
    it('REST-010 GET /v1/users/profile shows the profile of the caller', async () => {
      const [one, other] = [await uswarm.user(), await uswarm.user()];
      expect([(await profile(one)).email, (await profile(other)).email]).toEqual([one.email, other.email]);
    });

    it('RES-015 idp_uid is the subject at the identity provider', async () => {
      const subject = `idp|${crypto.randomUUID()}`;
      const token = await uswarm.issuer.issueToken({ email: 'x@example.com', name: 'X', subject });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post('/v1/auth/sign-up', undefined, 204);
      expect((await person.get<{ data: UserProfile }>(PROFILE)).body.data.idp_uid).toBe(subject);
    });

    it('RES-014 RES-017 e-mail and name come from the token', async () => {
      const user = await uswarm.user();
      expect(await profile(user)).toMatchObject({ email: user.email, name: user.name });
    });

    it.each([
      ['RES-016', 'nickname', 'ada'],
      ['RES-018', 'surname', 'Lovelace'],
      ['RES-020', 'country_code', 'GB'],
    ] as const)('%s %s is a text, empty until it is set', async (_row, field, value) => {
      const user = await uswarm.user();
      const before = (await profile(user))[field];
      await set(user, { [field]: value });
      expect([before, (await profile(user))[field]]).toEqual(['', value]);
    });

    it('RES-019 avatar_url is the picture of the token, and follows it at a sign-in', async () => {
      const email = `${crypto.randomUUID()}@example.com`;
      const avatarAfter = async (route: string, claims: Record<string, unknown>): Promise<string> => {
        const token = await uswarm.issuer.issueToken({ email, name: 'Ada', claims });
        const person = uswarm.anonymous.with({ 'x-token': token });
        await person.post(`/v1/auth/${route}`, undefined, 204);
        return (await person.get<{ data: UserProfile }>(PROFILE)).body.data.avatar_url;
      };
      const seen = [
        await avatarAfter('sign-up', { picture: 'https://example.com/ada.png' }),
        await avatarAfter('sign-in', { picture: 'https://example.com/lovelace.png' }),
        await avatarAfter('sign-in', {}),
      ];
      expect(seen).toEqual([
        'https://example.com/ada.png',
        'https://example.com/lovelace.png',
        'https://example.com/lovelace.png',
      ]);
    });

    it.each([
      ['is not https', 'http://example.com/ada.png'],
      ['is a script', 'javascript:alert(1)'],
      ['is not a URL', 'ada.png'],
      ['is longer than 2048 characters', `https://example.com/${'a'.repeat(2_029)}`],
      ['is not a text', 7],
    ])('takes no picture that %s', async (_what, picture) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const token = await uswarm.issuer.issueToken({ email, name: 'Ada', claims: { picture } });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post('/v1/auth/sign-up', undefined, 204);
      expect((await person.get<{ data: UserProfile }>(PROFILE)).body.data.avatar_url).toBe('');
    });

    it('takes name and surname apart if the token does', async () => {
      const claims = { given_name: 'Ada', family_name: 'Lovelace' };
      const email = `${crypto.randomUUID()}@example.com`;
      const token = await uswarm.issuer.issueToken({ email, name: 'Ada Lovelace', claims });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post('/v1/auth/sign-up', undefined, 204);
      const { data } = (await person.get<{ data: UserProfile }>(PROFILE)).body;
      expect([data.name, data.surname]).toEqual(['Ada', 'Lovelace']);
    });

    it('RES-021 date_of_birth is a timestamp or null', async () => {
      const user = await uswarm.user();
      const before = (await profile(user)).date_of_birth;
      await set(user, { date_of_birth: '1815-12-10T00:00:00Z' });
      expect([before, (await profile(user)).date_of_birth]).toEqual([null, '1815-12-10T00:00:00.000Z']);
    });

    it('RES-022 created_at is the time of the sign-up', async () => {
      const before = Date.now();
      const { created_at } = await profile(await uswarm.user());
      expect(created_at).toMatch(ISO);
      // Postgres and this process run on the same clock; a second is for its resolution.
      expect(Math.abs(Date.parse(created_at) - before)).toBeLessThan(60_000);
    });

    it('RES-023 RES-024 who can read a profile is neither deleted nor banned', async () => {
      expect(await profile(await uswarm.user())).toMatchObject({ is_deleted: false, is_banned: false });
    });

    it.each([
      ['RES-025', 'has_agreed_with_terms', 'accepted_terms_version'],
      ['RES-026', 'has_agreed_with_privacy_policy', 'accepted_privacy_version'],
    ] as const)('%s %s states whether the current version was accepted', async (_row, field, column) => {
      const user = await uswarm.user();
      const seen = [(await profile(user))[field]];
      for (const version of ['6', '7']) {
        await set(user, { [column]: version });
        seen.push((await profile(user))[field]);
      }
      expect(seen).toEqual([false, false, true]);
    });

    it('RES-027 preferences are three texts', async () => {
      expect((await profile(await uswarm.user())).preferences).toEqual({
        platform_theme: 'system',
        platform_language: 'en',
        currency_code: 'USD',
      });
    });

    it('RES-028 the subscription names the plan and when it ends, or null', async () => {
      const user = await uswarm.user();
      const before = (await profile(user)).subscription;
      await set(user, { plan_code: 'pro', plan_expires_at: '2999-01-01T00:00:00Z' });
      expect([before, (await profile(user)).subscription]).toEqual([
        { name: 'Free', code: 'free', expires_at: null },
        { name: 'Pro', code: 'pro', expires_at: '2999-01-01T00:00:00.000Z' },
      ]);
    });
  });

  describe('PATCH /v1/users', () => {
    it('REST-011 changes every field that it takes and answers 204', async () => {
      const user = await uswarm.user();
      const patch = {
        nickname: 'ada',
        country_code: 'GB',
        surname: 'Lovelace',
        name: 'Augusta',
        date_of_birth: '1815-12-10T00:00:00.000Z',
        preferences: { platform_theme: 'dark', platform_language: 'en-GB', currency_code: 'GBP' },
      };
      expect((await user.patch('/v1/users', patch, 204)).body).toBeUndefined();
      expect(await profile(user)).toMatchObject(patch);
    });

    it.each([
      ['nickname', 'n'],
      ['country_code', 'DE'],
      ['surname', 's'],
      ['name', 'a'],
      ['date_of_birth', '2000-02-29T00:00:00.000Z'],
      ['preferences', { platform_theme: 'dark', platform_language: 'en', currency_code: 'USD' }],
      ['time_zone', 'Pacific/Auckland'],
    ])('REST-011 changes %s alone and leaves the rest', async (field, value) => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', { [field]: value }, 204);
      expect(await profile(user)).toEqual({ ...before, [field]: value });
    });

    it('changes one preference and leaves the others', async () => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { preferences: { currency_code: 'EUR' } }, 204);
      expect((await profile(user)).preferences).toEqual({
        platform_theme: 'system',
        platform_language: 'en',
        currency_code: 'EUR',
      });
    });

    it('takes a date of birth as a date too, and reads it in UTC', async () => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { date_of_birth: '1999-12-31' }, 204);
      expect((await profile(user)).date_of_birth).toBe('1999-12-31T00:00:00.000Z');
    });

    it('clears the date of birth by null', async () => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { date_of_birth: '1999-12-31' }, 204);
      await user.patch('/v1/users', { date_of_birth: null }, 204);
      expect((await profile(user)).date_of_birth).toBeNull();
    });

    it('changes nothing by an empty object', async () => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', {}, 204);
      expect(await profile(user)).toEqual(before);
    });

    it('ignores unknown fields, and those that are not the user’s to change', async () => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', { is_banned: true, email: 'x@example.com', id: '1', plan_code: 'pro' }, 204);
      expect(await profile(user)).toEqual(before);
    });

    it('keeps any text of any language as it is', async () => {
      const user = await uswarm.user();
      const name = `'"; DROP TABLE users; -- 名前 👩‍🚀 \u202e`;
      await user.patch('/v1/users', { name }, 204);
      expect((await profile(user)).name).toBe(name);
    });

    it.each([
      ['EN-gb', 'en-GB'],
      ['zh-hant-tw', 'zh-Hant-TW'],
    ])('keeps the language %s in its canonical form, %s', async (tag, canonical) => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { preferences: { platform_language: tag } }, 204);
      expect((await profile(user)).preferences.platform_language).toBe(canonical);
    });

    it('leaves what another request changes at the same time', async () => {
      const user = await uswarm.user();
      const patches = [
        { nickname: 'ada' },
        { surname: 'Lovelace' },
        { country_code: 'GB' },
        { preferences: { platform_theme: 'dark' } },
        { preferences: { currency_code: 'GBP' } },
      ];
      await Promise.all(patches.map((patch) => user.patch('/v1/users', patch, 204)));
      expect(await profile(user)).toMatchObject({
        nickname: 'ada',
        surname: 'Lovelace',
        country_code: 'GB',
        preferences: { platform_theme: 'dark', platform_language: 'en', currency_code: 'GBP' },
      });
    });

    it.each([
      ['a number in place of a text', { nickname: 1 }],
      ['null, which clears the date of birth alone', { nickname: null }],
      ['a nickname of 101 characters', { nickname: 'n'.repeat(101) }],
      ['a country that is not a code', { country_code: 'Germany' }],
      ['a country that ISO 3166-1 does not have', { country_code: 'ZZ' }],
      ['a country in lower case', { country_code: 'de' }],
      ['a currency that ISO 4217 does not have', { preferences: { currency_code: 'EUX' } }],
      ['a language that is not a tag', { preferences: { platform_language: 'english!' } }],
      ['a language with two equal variants', { preferences: { platform_language: 'de-1996-1996' } }],
      ['null for a country', { country_code: null }],
      ['null for a preference', { preferences: { platform_theme: null } }],
      ['null for all preferences', { preferences: null }],
      ['a birthday that is still to come', { date_of_birth: '2999-01-01' }],
      ['a birth tomorrow', { date_of_birth: new Date(Date.now() + 86_400_000).toISOString() }],
      ['a currency that is not a code', { preferences: { currency_code: 'Euro' } }],
      ['a time zone that does not exist', { time_zone: 'Mars/Olympus' }],
      ['preferences that are a text', { preferences: 'dark' }],
      ['a date that is none', { date_of_birth: 'yesterday' }],
      ['a day that does not exist', { date_of_birth: '2001-02-29' }],
      ['a year that Postgres does not have', { date_of_birth: '0000-01-01' }],
      ['a text with NUL', { name: 'a\u0000b' }],
      ['a text with a lone surrogate', { surname: 'a\ud800b' }],
      ['a preference with NUL', { preferences: { platform_theme: '\u0000' } }],
    ])('refuses %s, and stores nothing of the request', async (_what, body) => {
      const user = await uswarm.user();
      const before = await storedRows(uswarm.database);
      const withGoodFields = { name: 'Changed', nickname: 'changed', ...body };
      expect(await user.refusal('PATCH', '/v1/users', withGoodFields)).toBe('validation_failed');
      expect(await storedRows(uswarm.database)).toEqual(before);
    });

    it.each([[[]], [null], ['nickname'], [7]])('refuses the body %j', async (body) => {
      const user = await uswarm.user();
      expect(await user.refusal('PATCH', '/v1/users', body)).toBe('validation_failed');
    });
  });
});
