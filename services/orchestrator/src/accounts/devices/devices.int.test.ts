import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const PUSH = '/v1/push-token';
/** From the example in RFC 8291. */
const KEYS = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};
const PROFILE = '/v1/users/profile';
const PHONE = {
  'x-device-id': 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F',
  'x-device-info': 'Ada’s iPhone; iOS 26.1',
  'x-version': '2.14.0',
  'x-timezone': 'Europe/Berlin',
};
// Header values are bytes, and Node decodes each byte as one character.
const asHeaders = (device: Record<string, string>) =>
  Object.fromEntries(Object.entries(device).map(([name, value]) => [name, value.replace('’', '\u0027')]));

describe('devices', () => {
  let uswarm: TestOrchestrator;
  const lines: string[] = [];
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ logTo: lines });
  });
  afterAll(() => uswarm.close());

  const devicesOf = async ({ email }: TestUser) =>
    uswarm.database
      .selectFrom('devices')
      .innerJoin('users', 'users.id', 'devices.user_id')
      .select(['device_id', 'info', 'app_version', 'timezone', 'push_token'])
      .where('users.email', '=', email)
      .orderBy('device_id')
      .execute();
  const recorded = (user: TestUser, wanted: (rows: Awaited<ReturnType<typeof devicesOf>>) => boolean) =>
    eventually(() => devicesOf(user), { until: wanted });
  const tokensOf = async (user: TestUser) =>
    (await devicesOf(user)).map(({ device_id, push_token }) => [device_id, push_token]);

  describe('the push token', () => {
    it('REST-004 POST /v1/push-token stores the token of the device and returns {success: true} without an envelope', async () => {
      const user = await uswarm.user();
      const push_token = crypto.randomUUID();
      const { body } = await user.with({ 'x-device-id': 'phone' }).post(PUSH, { push_token }, 200);
      expect(body).toEqual({ success: true });
      expect(await tokensOf(user)).toEqual([['phone', push_token]]);
    });

    it('can be the subscription of a browser, with its keys', async () => {
      const user = await uswarm.user();
      const browser = {
        push_token: `https://push.example.com/${crypto.randomUUID()}`,
        service: 'web_push',
        keys: KEYS,
      };
      await user.with({ 'x-device-id': 'laptop' }).post(PUSH, browser, 200);
      const stored = await uswarm.database
        .selectFrom('devices')
        .select(['push_service', 'push_keys'])
        .where('push_token', '=', browser.push_token)
        .execute();
      expect(stored).toEqual([{ push_service: 'web_push', push_keys: KEYS }]);
    });

    it.each([
      ['http://push.example.com/a', KEYS],
      ['not a url', KEYS],
      ['https://127.0.0.1/a', KEYS],
      ['https://[::ffff:10.0.0.1]/a', KEYS],
      ['https://169.254.169.254/latest', KEYS],
      ['https://user:secret@push.example.com/a', KEYS],
      ['https://push.example.com/a', undefined],
      ['https://push.example.com/a', { ...KEYS, auth: 'short' }],
    ])('is refused if no browser could have returned it: %s with %j', async (push_token, keys) => {
      const user = await uswarm.user();
      const { body } = await user.post<{ code: string }>(PUSH, { push_token, service: 'web_push', keys }, 400);
      expect(body.code).toBe('validation_failed');
      expect(await tokensOf(user)).toEqual([]);
    });

    it('is removed by DELETE, also if there is none', async () => {
      const user = await uswarm.user();
      const phone = user.with({ 'x-device-id': 'phone' });
      await phone.post(PUSH, { push_token: crypto.randomUUID() }, 200);
      await phone.delete(PUSH, undefined, 204);
      await phone.delete(PUSH, undefined, 204);
      expect(await tokensOf(user)).toEqual([['phone', null]]);
    });

    it('is replaced by the next one of the device', async () => {
      const user = await uswarm.user();
      const phone = user.with({ 'x-device-id': 'phone' });
      const tokens = [crypto.randomUUID(), crypto.randomUUID()];
      for (const push_token of tokens) await phone.post(PUSH, { push_token }, 200);
      expect(await tokensOf(user)).toEqual([['phone', tokens[1]]]);
    });

    it('is separate per device of a user', async () => {
      const user = await uswarm.user();
      for (const device of ['phone', 'tablet']) {
        await user.with({ 'x-device-id': device }).post(PUSH, { push_token: `${device} of ${user.email}` }, 200);
      }
      expect(await tokensOf(user)).toEqual([
        ['phone', `phone of ${user.email}`],
        ['tablet', `tablet of ${user.email}`],
      ]);
    });

    it('belongs to the installation: it moves to the next user who signs in there', async () => {
      const [before, after] = [await uswarm.user(), await uswarm.user()];
      const push_token = crypto.randomUUID();
      for (const user of [before, after]) {
        await user.with({ 'x-device-id': 'shared' }).post(PUSH, { push_token }, 200);
      }
      expect({ before: await tokensOf(before), after: await tokensOf(after) }).toEqual({
        before: [['shared', null]],
        after: [['shared', push_token]],
      });
    });

    it('moves with a device that got a new id', async () => {
      const user = await uswarm.user();
      const push_token = crypto.randomUUID();
      for (const device of ['old', 'renewed']) {
        await user.with({ 'x-device-id': device }).post(PUSH, { push_token }, 200);
      }
      expect(await tokensOf(user)).toEqual([
        ['old', null],
        ['renewed', push_token],
      ]);
    });

    it('is stored for a client without a device id', async () => {
      const user = await uswarm.user();
      const push_token = crypto.randomUUID();
      await user.post(PUSH, { push_token }, 200);
      expect(await tokensOf(user)).toEqual([['', push_token]]);
    });

    it('is stored for at most twenty devices of a user', async () => {
      const user = await uswarm.user();
      const register = async (device: number) => {
        const push_token = crypto.randomUUID();
        await user.with({ 'x-device-id': `device ${device}` }).post(PUSH, { push_token }, 200);
      };
      // A device's second request is not recorded again, because its description has not changed.
      for (let n = 0; n < 50; n += 1) await register(n % 25);
      const newest = (await tokensOf(user)).filter(([, token]) => token !== null).map(([device]) => device);
      expect({ count: newest.length, hasLast: newest.includes('device 24') }).toEqual({ count: 20, hasLast: true });
    });

    it('belongs to exactly one user after concurrent registrations', async () => {
      const users = await Promise.all(Array.from({ length: 6 }, () => uswarm.user()));
      const push_token = crypto.randomUUID();
      await Promise.all(users.map((user) => user.with({ 'x-device-id': 'phone' }).post(PUSH, { push_token }, 200)));
      const tokens = (await Promise.all(users.map(tokensOf))).flat().map(([, token]) => token);
      expect(tokens.filter((token) => token === push_token)).toHaveLength(1);
      expect(tokens.filter((token) => token !== null)).toHaveLength(1);
    });

    it.each([
      [{}],
      [{ push_token: '' }],
      [{ push_token: 7 }],
      [{ push_token: null }],
      [{ push_token: 'x'.repeat(4_097) }],
    ])('is rejected if the body is %j', async (body) => {
      const user = await uswarm.user();
      expect(await user.refusal('POST', PUSH, body)).toBe('validation_failed');
      expect(await devicesOf(user)).toEqual([]);
    });
  });

  describe('the headers of a client', () => {
    it('AUTH-008 VER-003 are stored for HTTP requests: id, description, application version, time zone', async () => {
      const user = await uswarm.user();
      await user.with(asHeaders(PHONE)).get(PROFILE);
      expect(await recorded(user, (rows) => rows.length > 0)).toEqual([
        {
          device_id: PHONE['x-device-id'],
          info: "Ada's iPhone; iOS 26.1",
          app_version: '2.14.0',
          timezone: 'Europe/Berlin',
          push_token: null,
        },
      ]);
    });

    it('AUTH-008 VER-003 are stored for socket handshakes too', async () => {
      const user = await uswarm.user();
      const service = await signInternalToken(parseSigningKey(uswarm.internalKey), 'gateway');
      const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
        body: JSON.stringify({ credentials: { 'x-token': user.token, ...PHONE } }),
      });
      expect(answer.statusCode).toBe(200);
      await answer.body.dump();
      expect(await recorded(user, (rows) => rows.length > 0)).toMatchObject([
        { device_id: PHONE['x-device-id'], info: PHONE['x-device-info'], app_version: '2.14.0' },
      ]);
    });

    it('VER-003 are updated with the app, and absent headers change nothing', async () => {
      const user = await uswarm.user();
      await user.with(asHeaders(PHONE)).get(PROFILE);
      await recorded(user, (rows) => rows.length > 0);
      await user.with({ 'x-device-id': PHONE['x-device-id'], 'x-version': '2.15.0' }).get(PROFILE);
      expect(await recorded(user, ([row]) => row?.app_version === '2.15.0')).toMatchObject([
        { app_version: '2.15.0', timezone: 'Europe/Berlin' },
      ]);
    });

    it('are kept for the twenty most recently seen devices', async () => {
      const user = await uswarm.user();
      for (let n = 0; n < 25; n += 1) {
        await user.with({ 'x-device-id': `device ${String(n).padStart(2, '0')}` }).get(PROFILE);
        await recorded(user, (rows) => rows.some(({ device_id }) => device_id.endsWith(String(n).padStart(2, '0'))));
      }
      const kept = await recorded(user, (rows) => rows.length === 20);
      expect({ count: kept.length, oldest: kept[0]?.device_id, newest: kept.at(-1)?.device_id }).toEqual({
        count: 20,
        oldest: 'device 05',
        newest: 'device 24',
      });
    });

    it('AUTH-008 never fail a request, even if they are malformed', async () => {
      const user = await uswarm.user();
      const odd = {
        'x-device-id': 'x'.repeat(500),
        'x-device-info': '\u00ff\t{"\'; DROP TABLE devices; --',
        'x-version': '-',
        'x-timezone': 'Nowhere/Land',
      };
      expect((await user.with(odd).get(PROFILE)).status).toBe(200);
    });

    it('are not stored for a caller who has not signed up', async () => {
      const person = await uswarm.newIdentity();
      await person.with({ 'x-device-id': person.email }).refusal('GET', PROFILE);
      const rows = await uswarm.database.selectFrom('devices').select('device_id').execute();
      expect(rows.map(({ device_id }) => device_id)).not.toContain(person.email);
    });

    it('AUTH-008 VER-003 are logged with the request without personal data', async () => {
      const user = await uswarm.user();
      const requestId = crypto.randomUUID();
      await user.with({ ...asHeaders(PHONE), 'x-request-id': requestId }).get(PROFILE);
      const line = await eventually(
        () => lines.find((text) => text.includes(requestId) && text.includes('getProfile')),
        { until: (found) => found !== undefined },
      );
      expect(JSON.parse(line ?? '{}')).toMatchObject({
        device: expect.stringMatching(/^[\da-f]{12}$/),
        platform: 'ios',
        appVersion: '2.14.0',
        timezone: 'Europe/Berlin',
      });
      expect(lines.join('')).not.toMatch(/E621E1F8|Ada.s iPhone/);
      expect(lines.join('')).not.toContain(user.email);
    });
  });
});
