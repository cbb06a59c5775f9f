import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorBody, UserProfile } from '@uswarm/contract';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Times must not depend on the database sessions' time zone. */
function inBerlin(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set('options', '-c TimeZone=Europe/Berlin');
  return url.href;
}

describe('users', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { LEGAL_VERSION: '7' }, reachDatabaseBy: inBerlin });
  });
  afterAll(() => uswarm.close());

  const profile = async (user: TestUser) => (await user.get<{ data: UserProfile }>(PROFILE)).body.data;
  const set = (user: TestUser, values: Record<string, unknown>) =>
    uswarm.database.updateTable('users').set(values).where('email', '=', user.email).execute();

  describe('the profile', () => {
    it('REST-010 GET /v1/users/profile returns the profile of the caller', async () => {
      const [one, other] = [await uswarm.user(), await uswarm.user()];
      expect({ one: (await profile(one)).email, other: (await profile(other)).email }).toEqual({
        one: one.email,
        other: other.email,
      });
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
    ] as const)('%s %s is a string, empty until it is set', async (_row, field, value) => {
      const user = await uswarm.user();
      const before = (await profile(user))[field];
      await set(user, { [field]: value });
      expect({ before, after: (await profile(user))[field] }).toEqual({ before: '', after: value });
    });

    it('RES-019 avatar_url is the picture of the token and is updated at each sign-in', async () => {
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
        await avatarAfter('sign-in', { picture: 'https://example.com/\u202eada\n.png' }),
      ];
      expect(seen).toEqual([
        'https://example.com/ada.png',
        'https://example.com/lovelace.png',
        'https://example.com/lovelace.png',
        'https://example.com/%E2%80%AEada.png',
      ]);
    });

    it.each([
      ['is not https', 'http://example.com/ada.png'],
      ['is a script', 'javascript:alert(1)'],
      ['is not a URL', 'ada.png'],
      ['is longer than 2048 characters', `https://example.com/${'a'.repeat(2_029)}`],
      ['is not a string', 7],
    ])('ignores a picture that %s', async (_what, picture) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const token = await uswarm.issuer.issueToken({ email, name: 'Ada', claims: { picture } });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post('/v1/auth/sign-up', undefined, 204);
      expect((await person.get<{ data: UserProfile }>(PROFILE)).body.data.avatar_url).toBe('');
    });

    it('uses given and family name of the token if it has them', async () => {
      const claims = { given_name: 'Ada', family_name: 'Lovelace' };
      const email = `${crypto.randomUUID()}@example.com`;
      const token = await uswarm.issuer.issueToken({ email, name: 'Ada Lovelace', claims });
      const person = uswarm.anonymous.with({ 'x-token': token });
      await person.post('/v1/auth/sign-up', undefined, 204);
      const { data } = (await person.get<{ data: UserProfile }>(PROFILE)).body;
      expect({ name: data.name, surname: data.surname }).toEqual({ name: 'Ada', surname: 'Lovelace' });
    });

    it('RES-021 date_of_birth is a timestamp or null', async () => {
      const user = await uswarm.user();
      const before = (await profile(user)).date_of_birth;
      await set(user, { date_of_birth: '1815-12-10T00:00:00Z' });
      expect({ before, after: (await profile(user)).date_of_birth }).toEqual({
        before: null,
        after: '1815-12-10T00:00:00.000Z',
      });
    });

    it('RES-022 created_at is the time of the sign-up', async () => {
      const before = Date.now();
      const { created_at } = await profile(await uswarm.user());
      expect(created_at).toMatch(ISO);
      expect(Math.abs(Date.parse(created_at) - before)).toBeLessThan(60_000);
    });

    it('RES-023 RES-024 is_deleted and is_banned are false for a user who can read the profile', async () => {
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

    it('RES-027 preferences are three strings', async () => {
      expect((await profile(await uswarm.user())).preferences).toEqual({
        platform_theme: 'system',
        platform_language: 'en',
        currency_code: 'USD',
      });
    });

    it('RES-028 the subscription has the plan and its expiry, or null', async () => {
      const user = await uswarm.user();
      const before = (await profile(user)).subscription;
      await set(user, { plan_code: 'pro', plan_expires_at: '2999-01-01T00:00:00Z' });
      expect({ before, after: (await profile(user)).subscription }).toEqual({
        before: { name: 'Free', code: 'free', expires_at: null },
        after: { name: 'Pro', code: 'pro', expires_at: '2999-01-01T00:00:00.000Z' },
      });
    });
  });

  describe('PATCH /v1/users', () => {
    it('REST-011 changes all fields and returns 204', async () => {
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
    ])('REST-011 changes only %s', async (field, value) => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', { [field]: value }, 204);
      expect(await profile(user)).toEqual({ ...before, [field]: value });
    });

    it('changes only the given preference', async () => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { preferences: { currency_code: 'EUR' } }, 204);
      expect((await profile(user)).preferences).toEqual({
        platform_theme: 'system',
        platform_language: 'en',
        currency_code: 'EUR',
      });
    });

    it.each([
      ['1999-12-31', '1999-12-31T00:00:00.000Z'],
      ['1990-03-25T00:00:00+02:00', '1990-03-25T00:00:00.000Z'],
      ['1999-12-31T12:00:00Z', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T23:59:59.999999Z', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T01:30:00+05:30', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T00:00:00+14:00', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T23:00:00-12:00', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T00:00:00-23:59', '1999-12-31T00:00:00.000Z'],
      ['2000-02-29T00:00:00.000-08:00', '2000-02-29T00:00:00.000Z'],
      ['1999-12-31T00:00:00+0200', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T00:00+02', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31t00:00:00z', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31 00:00:00+01:00', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31 00:00:00 +0100', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T00:00:00.000', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31T00:00+01:00[Europe/Berlin]', '1999-12-31T00:00:00.000Z'],
      ['1930-06-01T00:00:00+00:19:32', '1930-06-01T00:00:00.000Z'],
      ['1999-12-31 00:00:00 UTC', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31+02:00', '1999-12-31T00:00:00.000Z'],
      ['1999-12-31Z', '1999-12-31T00:00:00.000Z'],
      ['0001-01-01', '0001-01-01T00:00:00.000Z'],
      ['0001-01-01T00:00:00+00:01', '0001-01-01T00:00:00.000Z'],
    ])('stores the date of birth %s as the start of its day, %s', async (text, instant) => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { date_of_birth: text }, 204);
      expect((await profile(user)).date_of_birth).toBe(instant);
    });

    it('clears the date of birth if it is null', async () => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { date_of_birth: '1999-12-31' }, 204);
      await user.patch('/v1/users', { date_of_birth: null }, 204);
      expect((await profile(user)).date_of_birth).toBeNull();
    });

    it('accepts the values of a new profile, and clears a country that is empty', async () => {
      const user = await uswarm.user();
      const before = await profile(user);
      const { nickname, name, surname, country_code, date_of_birth, preferences, time_zone } = before;
      await user.patch('/v1/users', { country_code: 'GB' }, 204);
      const defaults = { nickname, name, surname, country_code, date_of_birth, preferences, time_zone };
      await user.patch('/v1/users', defaults, 204);
      expect(await profile(user)).toEqual(before);
    });

    it('changes nothing if the object is empty', async () => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', {}, 204);
      expect(await profile(user)).toEqual(before);
    });

    it('ignores unknown and read-only fields', async () => {
      const user = await uswarm.user();
      const before = await profile(user);
      await user.patch('/v1/users', { is_banned: true, email: 'x@example.com', id: '1', plan_code: 'pro' }, 204);
      expect(await profile(user)).toEqual(before);
    });

    it('stores text of any language unchanged', async () => {
      const user = await uswarm.user();
      const name = `'"; DROP TABLE users; -- 名前 👩‍🚀 عربى`;
      await user.patch('/v1/users', { name }, 204);
      expect((await profile(user)).name).toBe(name);
    });

    it.each([
      ['EN-gb', 'en-GB'],
      ['zh-hant-tw', 'zh-Hant-TW'],
      ['en_US', 'en-US'],
    ])('stores the language %s in its canonical form %s', async (tag, canonical) => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { preferences: { platform_language: tag } }, 204);
      expect((await profile(user)).preferences.platform_language).toBe(canonical);
    });

    it.each([
      ['2001-02-29', 'must be a day of the calendar'],
      ['2001-04-31T00:00:00+02:00', 'must be a day of the calendar'],
      ['25.03.1990', 'must be a date such as 1990-12-10, or a date-time'],
      ['2999-01-01', 'must be in the past'],
    ])('rejects the date of birth %s with the message that it %s', async (text, message) => {
      const user = await uswarm.user();
      const body = JSON.stringify({ date_of_birth: text });
      const answer = await user.raw<ErrorBody>({
        method: 'PATCH',
        path: '/v1/users',
        headers: { 'content-type': 'application/json' },
        body,
      });
      expect(answer.body.extra).toMatchObject({ fields: [{ path: 'date_of_birth', message }] });
    });

    it.each([
      ['europe/berlin', 'Europe/Berlin'],
      ['GMT+05:30', '+05:30'],
      ['W. Europe Standard Time', 'Europe/Berlin'],
      ['', ''],
    ])('stores the time zone %j as %j', async (name, canonical) => {
      const user = await uswarm.user();
      await user.patch('/v1/users', { time_zone: name }, 204);
      expect((await profile(user)).time_zone).toBe(canonical);
    });

    it('does not overwrite other fields of a concurrent request', async () => {
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
      ['a nickname', { nickname: null }],
      ['a country', { country_code: null }],
      ['a preference', { preferences: { platform_theme: null } }],
      ['all preferences', { preferences: null }],
    ])('leaves %s unchanged if it is null, and changes the other fields', async (_what, body) => {
      const user = await uswarm.user();
      const shown = async () => {
        const { nickname, country_code, preferences, surname } = await profile(user);
        return { nickname, country_code, preferences, surname };
      };
      const before = await shown();
      await user.patch('/v1/users', { surname: 'Changed', ...body }, 204);
      expect(await shown()).toEqual({ ...before, surname: 'Changed' });
    });

    it.each([
      ['a number instead of a string', { nickname: 1 }],
      ['a nickname of 101 characters', { nickname: 'n'.repeat(101) }],
      ['a country that is not a code', { country_code: 'Germany' }],
      ['a country that is not in ISO 3166-1', { country_code: 'ZZ' }],
      ['a country in lower case', { country_code: 'de' }],
      ['a currency that is not in ISO 4217', { preferences: { currency_code: 'EUX' } }],
      ['a language that is not a tag', { preferences: { platform_language: 'english!' } }],
      ['a language with two equal variants', { preferences: { platform_language: 'de-1996-1996' } }],
      ['a date of birth in the future', { date_of_birth: '2999-01-01' }],
      ['a time of birth in the future', { date_of_birth: new Date(Date.now() + 86_400_000).toISOString() }],
      ['a currency that is not a code', { preferences: { currency_code: 'Euro' } }],
      ['a time zone that does not exist', { time_zone: 'Mars/Olympus' }],
      ['preferences that are a string', { preferences: 'dark' }],
      ['a malformed date', { date_of_birth: 'yesterday' }],
      ['a day that does not exist', { date_of_birth: '2001-02-29' }],
      ['a year that Postgres does not support', { date_of_birth: '0000-01-01' }],
      ['a day that only leap years have, with a time', { date_of_birth: '1900-02-29T00:00:00+02:00' }],
      ['a month that does not exist', { date_of_birth: '1990-13-01T00:00:00Z' }],
      ['an hour that does not exist', { date_of_birth: '1990-01-01T25:00:00Z' }],
      ['a date without separators', { date_of_birth: '19900325' }],
      ['a date of another order', { date_of_birth: '25.03.1990' }],
      ['an offset of a day', { date_of_birth: '1999-12-31T00:00:00+24:00' }],
      ['a text with NUL', { name: 'a\u0000b' }],
      ['a text with a lone surrogate', { surname: 'a\ud800b' }],
      ['a preference with NUL', { preferences: { platform_theme: '\u0000' } }],
    ])('rejects %s and stores nothing', async (_what, body) => {
      const user = await uswarm.user();
      const before = await allRows(uswarm.database);
      const withGoodFields = { name: 'Changed', nickname: 'changed', ...body };
      expect(await user.refusal('PATCH', '/v1/users', withGoodFields)).toBe('validation_failed');
      expect(await allRows(uswarm.database)).toEqual(before);
    });

    it.each([[[]], ['nickname'], [7]])('rejects the body %j', async (body) => {
      const user = await uswarm.user();
      expect(await user.refusal('PATCH', '/v1/users', body)).toBe('validation_failed');
    });
  });
});
