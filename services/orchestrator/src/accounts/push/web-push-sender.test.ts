import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type BrowserSubscription,
  startWebPushServer,
  type WebPushFault,
  type WebPushServer,
} from '@uswarm/dev-servers';
import { silentLogger } from '@uswarm/service-kit';
import { createOutgoing, DIRECT, type Outgoing } from '@uswarm/service-kit/outgoing';
import webPush from 'web-push';
import type { PushMessage, PushResult } from './push-sender.js';
import { createWebPushSender } from './web-push-sender.js';

const ID = '0192d3a4-0000-7000-8000-000000000001';
const NOTIFICATION: PushMessage = {
  collapseKey: ID,
  group: '0192d3a4-0000-7000-8000-000000000002',
  alert: { title: 'Researcher', body: 'The report is ready. 🎉' },
  badge: 3,
  data: { type: 'answer', message_id: ID },
};
const WITHDRAWAL: PushMessage = {
  ...NOTIFICATION,
  alert: null,
  badge: 2,
  data: { type: 'withdrawal', message_ids: ID },
};
const NEVER = new AbortController().signal;
const vapid = { ...webPush.generateVAPIDKeys(), contact: 'mailto:ops@example.com' };

describe('the sender of notifications to browsers', () => {
  let server: WebPushServer;
  let outgoing: Outgoing;
  let browser: BrowserSubscription;
  beforeEach(async () => {
    server = await startWebPushServer();
    outgoing = createOutgoing(DIRECT, { publicExcept: ['127.0.0.1'] });
    browser = server.subscribe(vapid.publicKey);
  });
  afterEach(async () => {
    await outgoing.destroy();
    await server.close();
  });

  const send = (
    message = NOTIFICATION,
    { to = browser, client = outgoing, signal = NEVER, now = new Date() } = {},
  ): Promise<PushResult> =>
    createWebPushSender({ vapid, outgoing: client, clock: { now: () => now }, logger: silentLogger }).send(
      { token: to.endpoint, keys: to.keys },
      message,
      signal,
    );
  const sendWith = (fault: WebPushFault, now?: Date): Promise<PushResult> => {
    server.failNext(fault);
    return send(NOTIFICATION, now === undefined ? {} : { now });
  };

  it('encrypts title, text, badge and ids for the browser, and signs as the application server', async () => {
    expect(await send()).toBe('sent');
    expect(server.received).toEqual([
      {
        endpoint: browser.endpoint,
        payload: { ...NOTIFICATION.alert, badge: 3, data: NOTIFICATION.data },
        ttlS: 3_600,
        urgency: 'high',
        topic: ID.replaceAll('-', ''),
        contact: 'mailto:ops@example.com',
      },
    ]);
  });

  it('withdraws a notification without a text, and replaces it if it was not delivered yet', async () => {
    expect(await send(WITHDRAWAL)).toBe('sent');
    expect(server.received).toMatchObject([
      { payload: { badge: 2, data: WITHDRAWAL.data }, urgency: 'normal', topic: ID.replaceAll('-', '') },
    ]);
    expect(server.received[0]?.payload).not.toHaveProperty('title');
  });

  it('sends no withdrawal to Safari, which would withdraw its permission', async () => {
    const request = async () => Promise.reject(new Error('not expected'));
    const to = { ...browser, endpoint: 'https://web.push.apple.com/QK5x' };
    expect(await send(WITHDRAWAL, { to, client: { ...outgoing, request } })).toBe('sent');
  });

  it('reports a subscription that has ended, and one that the service does not know', async () => {
    server.unsubscribe(browser.endpoint);
    expect(await send()).toBe('unregistered');
    const unknown = { ...browser, endpoint: `${server.url}/push/unknown` };
    expect(await send(NOTIFICATION, { to: unknown })).toBe('unregistered');
  });

  it('reports a subscription with keys that are not on the curve', async () => {
    const keys = { ...browser.keys, p256dh: Buffer.alloc(65, 4).toString('base64url') };
    expect(await send(NOTIFICATION, { to: { ...browser, keys } })).toBe('unregistered');
    expect(server.received).toEqual([]);
  });

  it('does not repeat a notification for a subscription with another application server', async () => {
    const to = server.subscribe(webPush.generateVAPIDKeys().publicKey);
    expect(await send(NOTIFICATION, { to })).toBe('rejected');
  });

  it('sends nothing to a private address, and forgets the subscription', async () => {
    const client = createOutgoing(DIRECT, { publicExcept: [] });
    expect(await send(NOTIFICATION, { client })).toBe('unregistered');
    const to = { ...browser, endpoint: browser.endpoint.replace('127.0.0.1', 'localhost') };
    expect(await send(NOTIFICATION, { client, to })).toBe('unregistered');
    await client.destroy();
    expect(server.received).toEqual([]);
  });

  it('does not follow a redirect, and tries again', async () => {
    const headers = { location: `${server.url}/other` };
    expect(await sendWith({ status: 307, headers })).toEqual({ retryInMs: 10_000 });
    expect(server.received).toEqual([]);
  });

  it.each([
    [{ status: 429 }, 60_000],
    [{ status: 429, headers: { 'retry-after': '90' } }, 90_000],
    [{ status: 429, headers: { 'retry-after': 'Tue, 01 Jan 2030 00:02:00 GMT' } }, 120_000],
    [{ status: 500 }, 10_000],
    [{ status: 503, headers: { 'retry-after': '999999' } }, 1_800_000],
    [{ status: 200, body: '<html>Sign in</html>' }, 10_000],
    ['lose-answer' as const, 10_000],
  ])('tries again after %j in %i ms', async (fault, retryInMs) => {
    expect(await sendWith(fault, new Date('2030-01-01T00:00:00Z'))).toEqual({ retryInMs });
  });

  it('does not repeat a notification that is too large', async () => {
    const alert = { title: 'x', body: 'y'.repeat(5_000) };
    expect(await send({ ...NOTIFICATION, alert })).toBe('rejected');
  });

  it('ends when its job ends', async () => {
    server.failNext('hang');
    const stop = new AbortController();
    const sending = send(NOTIFICATION, { signal: stop.signal });
    stop.abort(new Error('the lease is lost'));
    await expect(sending).rejects.toThrow('the lease is lost');
  });
});
