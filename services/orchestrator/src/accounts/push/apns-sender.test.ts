import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApnsFault, type ApnsServer, startApnsServer } from '@uswarm/dev-servers';
import { silentLogger } from '@uswarm/service-kit';
import { createOutgoing, DIRECT, type Outgoing, readProxy } from '@uswarm/service-kit/outgoing';
import { createCertificate, type ServerCertificate } from '@uswarm/testkit';
import { startForwardProxy } from '@uswarm/testkit/forward-proxy';
import { createApnsSender } from './apns-sender.js';
import { createApnsTokens } from './apns-token.js';
import type { PushMessage, PushResult } from './push-sender.js';

const ID = '0192d3a4-0000-7000-8000-000000000001';
const DEVICE = 'ab'.repeat(32);
const NOTIFICATION: PushMessage = {
  collapseKey: ID,
  group: '0192d3a4-0000-7000-8000-000000000002',
  alert: { title: 'Researcher', body: 'The report is ready.' },
  badge: 3,
  data: { type: 'answer', message_id: ID },
};
const NEVER = new AbortController().signal;

describe("the sender of notifications with Apple's service", () => {
  let trusted: string[];
  let certificate: ServerCertificate;
  beforeAll(async () => {
    certificate = await createCertificate('apple.test');
    trusted = getCACertificates('default');
    setDefaultCACertificates([...trusted, certificate.ca]);
  });
  afterAll(() => setDefaultCACertificates(trusted));

  let server: ApnsServer;
  let outgoing: Outgoing;
  let now: Date;
  beforeEach(async () => {
    now = new Date();
    server = await startApnsServer({ ...certificate, host: '127.0.0.1', now: () => now });
    outgoing = createOutgoing(DIRECT);
  });
  afterEach(async () => {
    await outgoing.destroy();
    await server.close();
  });

  function createSender({ topic = server.topic, key = server.key, url = server.url, client = outgoing } = {}) {
    const clock = { now: () => now };
    const tokens = createApnsTokens(key, clock);
    return createApnsSender({ url, topic, tokens, outgoing: client, clock, logger: silentLogger });
  }
  const send = (sender = createSender(), message = NOTIFICATION, token = DEVICE): Promise<PushResult> =>
    sender.send({ token, keys: null }, message, NEVER);
  const sendWith = (fault: ApnsFault): Promise<PushResult> => {
    server.failNext(fault);
    return send();
  };

  it('shows title, text and badge over HTTP/2, for at most an hour, in place of an earlier one', async () => {
    expect(await send()).toBe('sent');
    expect(server.sent).toEqual([
      {
        deviceToken: DEVICE,
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        pushType: 'alert',
        priority: '10',
        collapseId: ID,
        expiresAtS: Math.floor(now.getTime() / 1_000) + 3_600,
        payload: {
          aps: { alert: NOTIFICATION.alert, badge: 3, sound: 'default', 'thread-id': NOTIFICATION.group },
          ...NOTIFICATION.data,
          badge: '3',
        },
        httpVersion: '2.0',
      },
    ]);
  });

  it('withdraws a notification in the background', async () => {
    const withdrawal = { ...NOTIFICATION, alert: null, badge: 0, data: { type: 'withdrawal', message_ids: ID } };
    expect(await send(createSender(), withdrawal)).toBe('sent');
    expect(server.sent).toMatchObject([
      { pushType: 'background', priority: '5', collapseId: ID, payload: { ...withdrawal.data, badge: '0' } },
    ]);
  });

  it('keeps its provider token for 45 minutes, also for concurrent notifications', async () => {
    const sender = createSender();
    await Promise.all([send(sender), send(sender)]);
    now = new Date(now.getTime() + 44 * 60_000);
    await send(sender);
    expect(server.providerTokens.size).toBe(1);
    now = new Date(now.getTime() + 2 * 60_000);
    await send(sender);
    expect(server.providerTokens.size).toBe(2);
  });

  it('signs a new provider token if Apple reports that it has expired', async () => {
    const sender = createSender();
    await send(sender);
    now = new Date(now.getTime() + 2_000);
    server.failNext({ status: 403, reason: 'ExpiredProviderToken' });
    expect(await send(sender)).toBe('sent');
    expect(server.providerTokens.size).toBe(2);
  });

  it('reports a device that removed the app, and tokens that Apple never issued', async () => {
    server.unregister(DEVICE);
    expect(await send()).toBe('unregistered');
    expect(await send(createSender(), NOTIFICATION, 'abcd')).toBe('unregistered');
    expect(await send(createSender(), NOTIFICATION, '../../path')).toBe('unregistered');
  });

  it('reports a token of another app', async () => {
    expect(await sendWith({ status: 400, reason: 'DeviceTokenNotForTopic' })).toBe('unregistered');
  });

  it.each([
    ['another topic', () => createSender({ topic: 'com.example.other' })],
    ['another key', () => createSender({ key: { ...server.key, keyId: 'ZZZZZZZZZZ' } })],
  ])('does not repeat a notification that is rejected for %s, and keeps the token', async (_what, sender) => {
    expect(await send(sender())).toBe('rejected');
  });

  it.each([
    [{ status: 429, reason: 'TooManyRequests' }, 60_000],
    [{ status: 429, reason: 'TooManyProviderTokenUpdates' }, 60_000],
    [{ status: 500, reason: 'InternalServerError' }, 10_000],
    [{ status: 503, reason: 'Shutdown' }, 10_000],
    [{ status: 503, reason: 'ServiceUnavailable', headers: { 'retry-after': '120' } }, 120_000],
  ])('tries again after %j in %i ms', async (fault, retryInMs) => {
    expect(await sendWith(fault)).toEqual({ retryInMs });
  });

  it('tries again if the server is down', async () => {
    const other = await startApnsServer({ ...certificate, host: '127.0.0.1' });
    await other.close();
    expect(await send(createSender({ url: other.url }))).toEqual({ retryInMs: 10_000 });
  });

  it('speaks HTTP/2 through the proxy of a company', async () => {
    const port = Number(new URL(server.url).port);
    const proxy = await startForwardProxy({ portOf: () => port });
    const client = createOutgoing(readProxy({ HTTPS_PROXY: proxy.url }));
    const result = await send(createSender({ url: 'https://apple.test', client }));
    await client.destroy();
    await proxy.close();
    expect({ result, targets: proxy.targets, version: server.sent[0]?.httpVersion }).toEqual({
      result: 'sent',
      targets: ['apple.test:443'],
      version: '2.0',
    });
  });

  it('ends when its job ends', async () => {
    server.failNext('hang');
    const stop = new AbortController();
    const sending = createSender().send({ token: DEVICE, keys: null }, NOTIFICATION, stop.signal);
    stop.abort(new Error('the lease is lost'));
    await expect(sending).rejects.toThrow('the lease is lost');
  });
});
