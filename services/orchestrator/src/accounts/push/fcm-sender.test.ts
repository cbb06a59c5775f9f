import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type PushFault, type PushServer, startPushServer } from '@uswarm/dev-servers';
import { silentLogger } from '@uswarm/service-kit';
import { createOutgoing, DIRECT } from '@uswarm/service-kit/outgoing';
import { createFcmSender } from './fcm-sender.js';
import { createGoogleTokens } from './google-token.js';
import type { PushResult } from './push-sender.js';
import { ServiceAccount } from './service-account.js';

const NOTIFICATION = {
  collapseKey: '0192d3a4-0000-7000-8000-000000000001',
  group: '0192d3a4-0000-7000-8000-000000000002',
  alert: { title: 'Researcher', body: 'The report is ready.' },
  badge: 3,
  data: { type: 'answer', message_id: '0192d3a4-0000-7000-8000-000000000001' },
};

const outgoing = createOutgoing(DIRECT);

describe('the sender of push notifications', () => {
  let server: PushServer;
  let now: Date;
  beforeEach(async () => {
    server = await startPushServer();
    now = new Date();
  });
  afterEach(() => server.close());

  const accountWith = (change: Partial<ServiceAccount>): ServiceAccount => ({
    ...ServiceAccount.parse(JSON.parse(server.serviceAccount)),
    ...change,
  });
  function createSender(change: Partial<ServiceAccount> = {}, url = server.url) {
    const account = accountWith(change);
    const clock = { now: () => now };
    const tokens = createGoogleTokens({ account, outgoing, clock });
    return createFcmSender({ url, projectId: account.project_id, tokens, outgoing, clock, logger: silentLogger });
  }
  const send = (sender = createSender(), token = 'phone'): Promise<PushResult> =>
    sender.send({ token, keys: null }, NOTIFICATION, new AbortController().signal);
  const sendWith = (fault: PushFault): Promise<PushResult> => {
    server.failNext(fault);
    return send();
  };

  it('signs in as the service account, and sends title, text and ids to the device', async () => {
    expect(await send()).toBe('sent');
    const { collapseKey, alert, data } = NOTIFICATION;
    const collapseKeys = [collapseKey, collapseKey, collapseKey.replaceAll('-', '')];
    const sent = { token: 'phone', notification: alert, data: { ...data, badge: '3' }, badges: [3, 3], collapseKeys };
    expect(server.sent).toMatchObject([sent]);
  });

  it('withdraws a notification with data only, which Apple delivers to the app in the background', async () => {
    const data = { type: 'withdrawal', message_ids: NOTIFICATION.collapseKey };
    const withdrawal = { ...NOTIFICATION, alert: null, badge: 0, data };
    await createSender().send({ token: 'phone', keys: null }, withdrawal, new AbortController().signal);
    expect(server.sent).toMatchObject([
      { notification: null, data: { ...data, badge: '0' }, badges: [undefined, undefined], isBackground: true },
    ]);
  });

  it('lets Apple keep the notification for an hour, like Firebase and browsers', async () => {
    await send();
    expect(server.sent.map(({ expiresAtS }) => expiresAtS)).toEqual([Math.floor(now.getTime() / 1_000) + 3_600]);
  });

  /** Runs a test with a server that gives this answer to each request. */
  async function withAnswer(status: number, body: string, test: (url: string) => Promise<void>): Promise<void> {
    const other = createServer((_request, response) => void response.writeHead(status).end(body));
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening));
    try {
      await test(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
    } finally {
      other.closeAllConnections();
      await new Promise((closed) => other.close(closed));
    }
  }

  it.each([200, 302, 403, 407, 511])('retries soon if a proxy answers with a page and status %i', async (status) => {
    await withAnswer(status, '<html>Sign in</html>', async (url) => {
      expect(await send(createSender({}, url))).toEqual({ retryInMs: 10_000 });
    });
  });

  it.each([null, 'soon', 0, '3600', undefined])('uses an access token whose lifetime is %j', async (expires_in) => {
    await withAnswer(200, JSON.stringify({ access_token: 'a', expires_in, scope: null }), async (url) => {
      expect(
        await createGoogleTokens({
          account: accountWith({ token_uri: url }),
          outgoing,
          clock: { now: () => now },
        }).token(),
      ).toBe('a');
    });
  });

  it('finds the code of an error among details without one', async () => {
    const details = [null, { '@type': 'x', errorCode: null }, { errorCode: 'UNREGISTERED' }];
    await withAnswer(404, JSON.stringify({ error: { message: null, status: 404, details } }), async (url) => {
      expect(await send(createSender({}, url))).toBe('unregistered');
    });
  });

  it('keeps the access token until a minute before it expires, also for concurrent notifications', async () => {
    const sender = createSender();
    await Promise.all([send(sender), send(sender, 'tablet')]);
    now = new Date(now.getTime() + 3_500_000);
    await send(sender);
    expect(server.issued()).toBe(1);
    now = new Date(now.getTime() + 60_000);
    await send(sender);
    expect(server.issued()).toBe(2);
  });

  it('gets a new access token if the service no longer accepts it', async () => {
    const sender = createSender();
    await send(sender);
    server.revokeAccess();
    expect(await send(sender)).toBe('sent');
    expect(server.issued()).toBe(2);
  });

  it.each([
    ['another key', { private_key_id: 'unknown' }],
    ['another account', { client_email: 'other@example.com' }],
  ])('tries again later if no access token is issued, such as for %s', async (_what, change) => {
    expect(await send(createSender(change))).toEqual({ retryInMs: 10_000 });
    expect(server.sent).toEqual([]);
  });

  it('reports a device that is no longer registered', async () => {
    server.unregister('phone');
    expect(await send()).toBe('unregistered');
  });

  it('reports a token that Firebase never issued', async () => {
    server.invalidate('phone');
    expect(await send()).toBe('unregistered');
  });

  it.each([
    ['an invalid message', { status: 400, code: 'INVALID_ARGUMENT' }],
    ['a token of another project', { status: 403, code: 'SENDER_ID_MISMATCH' }],
    ['missing credentials of Apple', { status: 401, code: 'THIRD_PARTY_AUTH_ERROR' }],
    ['an unknown project', { status: 404, code: '' }],
  ])('does not repeat a notification that is rejected for %s, and keeps the token', async (_what, fault) => {
    expect(await sendWith(fault)).toBe('rejected');
  });

  it.each([
    [{ status: 429, code: 'QUOTA_EXCEEDED' }, 60_000],
    [{ status: 503, code: 'UNAVAILABLE' }, 10_000],
    [{ status: 500, code: 'INTERNAL' }, 10_000],
    [{ status: 503, code: 'UNAVAILABLE', headers: { 'retry-after': '120' } }, 120_000],
    [{ status: 429, code: 'QUOTA_EXCEEDED', headers: { 'retry-after': '999999' } }, 1_800_000],
    [{ status: 503, code: 'UNAVAILABLE', headers: { 'retry-after': 'soon' } }, 10_000],
  ])('tries again after %j in %i ms', async (fault, retryInMs) => {
    expect(await sendWith(fault)).toEqual({ retryInMs });
  });

  it('waits until the date of Retry-After', async () => {
    now = new Date('2030-01-01T00:00:00Z');
    const headers = { 'retry-after': 'Tue, 01 Jan 2030 00:02:00 GMT' };
    expect(await sendWith({ status: 503, code: 'UNAVAILABLE', headers })).toEqual({ retryInMs: 120_000 });
  });

  it('tries again if the answer is lost', async () => {
    expect(await sendWith('lose-answer')).toEqual({ retryInMs: 10_000 });
  });

  it('tries again if the server is down', async () => {
    const other = await startPushServer();
    await other.close();
    expect(await send(createSender({}, other.url))).toEqual({ retryInMs: 10_000 });
  });

  it('ends when its job ends', async () => {
    server.failNext('hang');
    const stop = new AbortController();
    const sending = createSender().send({ token: 'phone', keys: null }, NOTIFICATION, stop.signal);
    stop.abort(new Error('the lease is lost'));
    await expect(sending).rejects.toThrow('the lease is lost');
  });
});
