import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '@uswarm/service-kit';
import { createOutgoing, DIRECT, type Outgoing } from '@uswarm/service-kit/outgoing';
import { startWebhookReceiver, type WebhookReceiver } from '@uswarm/testkit/webhook-receiver';
import { createSendWebhook, type SentWebhook } from './send-webhook.js';
import { newWebhookSecret } from '../../platform/http/webhook-signature.js';

describe('a request to a webhook', () => {
  let receiver: WebhookReceiver;
  let inside: Outgoing;
  let outside: Outgoing;
  beforeAll(async () => {
    receiver = await startWebhookReceiver();
    inside = createOutgoing(DIRECT, { publicExcept: ['127.0.0.1'] });
    outside = createOutgoing(DIRECT, { publicExcept: [] });
  });
  afterAll(async () => {
    await Promise.all([receiver.close(), inside.destroy(), outside.destroy()]);
  });

  const send = (url = receiver.url, outgoing = inside, signal = new AbortController().signal): Promise<SentWebhook> =>
    createSendWebhook({ outgoing, clock: systemClock, userAgent: 'uswarm/1', timeoutMs: 300 })(
      { url, id: 'm1', body: { type: 't', timestamp: '', data: {} }, secrets: [newWebhookSecret()] },
      signal,
    );

  it('fails without an answer in time', async () => {
    receiver.answers.push('hang');
    expect((await send()).attempt).toMatchObject({ status: null, failure: 'timeout' });
  });

  it.each(['http://127.0.0.1', 'http://localhost'])('is not sent to the private address %s', async (host) => {
    const before = receiver.received.length;
    const { port } = new URL(receiver.url);
    expect((await send(`${host}:${port}/`, outside)).attempt.failure).toBe('private_address');
    expect(receiver.received).toHaveLength(before);
  });

  it('keeps the first kilobyte of the response, in whole characters', async () => {
    receiver.answers.push({ status: 200, body: `a${'ä'.repeat(5_000)}` });
    expect((await send()).attempt.response).toBe(`a${'ä'.repeat(511)}`);
  });

  it('is accepted by its status if the response never ends', async () => {
    receiver.answers.push('stall');
    expect((await send()).attempt).toMatchObject({ status: 200, failure: null, response: 'on the way' });
  });

  it.each([
    ['30', 30_000],
    ['soon', undefined],
  ])('reads Retry-After: %s', async (value, retryAfterMs) => {
    receiver.answers.push({ status: 503, headers: { 'retry-after': value } });
    expect((await send()).retryAfterMs).toBe(retryAfterMs);
  });

  it('has no outcome if it is aborted', async () => {
    receiver.answers.push('hang');
    await expect(send(receiver.url, inside, AbortSignal.abort(new Error('lease lost')))).rejects.toThrow('lease lost');
  });
});
