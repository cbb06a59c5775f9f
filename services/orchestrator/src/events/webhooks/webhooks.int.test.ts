import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessagePage, Webhook, WebhookAttempt, WebhookDelivery, WebhookWithSecret } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { type ReceivedWebhook, startWebhookReceiver, type WebhookReceiver } from '@uswarm/testkit/webhook-receiver';
import { sql } from 'kysely';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

const ENABLED = {
  PUBLIC_URL: 'https://uswarm.example.com',
  USER_WEBHOOKS: 'true',
  USER_WEBHOOKS_PER_WORKSPACE: '3',
  USER_WEBHOOKS_PRIVATE_HOSTS: '127.0.0.1',
  USER_WEBHOOK_WORKERS: '4',
  INTEGRATION_TOKEN_KEYS: `k1:${randomBytes(32).toString('base64')}`,
};

describe('a webhook', () => {
  let uswarm: TestOrchestrator;
  let receiver: WebhookReceiver;
  let user: TestUser;
  let home: Home;
  let webhooks: string;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: ENABLED });
  });
  afterAll(() => uswarm?.close());
  beforeEach(async () => {
    await receiver?.close();
    receiver = await startWebhookReceiver();
    user = await uswarm.user();
    home = await uswarm.home(user);
    webhooks = `${home.workspace}/webhooks`;
  });
  afterAll(() => receiver?.close());

  async function create(settings: Record<string, unknown> = {}): Promise<WebhookWithSecret> {
    const body = { url: receiver.url, ...settings };
    return (await user.post<{ data: WebhookWithSecret }>(webhooks, body, 201)).body.data;
  }
  const state = async ({ id }: Webhook): Promise<Webhook | undefined> =>
    (await user.get<{ data: Webhook[] }>(webhooks)).body.data.find((one) => one.id === id);
  const deliveries = async ({ id }: Webhook, query = ''): Promise<WebhookDelivery[]> =>
    (await user.get<{ data: WebhookDelivery[] }>(`${webhooks}/${id}/deliveries${query}`)).body.data;
  const say = (text: string) => user.post(home.messages, { content: { type: 'text', text } }, 201);
  const enable = ({ id }: Webhook) => user.patch(`${webhooks}/${id}`, { state: 'enabled' }, 200);
  const received = (count: number): Promise<ReceivedWebhook[]> =>
    eventually(() => receiver.received, { until: ({ length }) => length >= count });
  const allDelivered = (webhook: Webhook): Promise<WebhookDelivery[]> =>
    eventually(() => deliveries(webhook), {
      until: (all) => all.length > 0 && all.every((one) => one.state === 'delivered'),
    });
  /** As if the first failed attempt was long ago, others followed, and the next one is due. */
  const age = async ({ id }: Webhook, days: number, attempts = 0): Promise<void> => {
    await sql`
      WITH aged AS (
        UPDATE webhook_deliveries SET failing_since = failing_since - ${days} * interval '1 day', next_attempt_at = now(),
          attempts = attempts + ${attempts}
        WHERE webhook_id = ${id} AND state = 'pending'
      )
      UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'webhook' AND subject_id = ${id}`.execute(
      uswarm.database,
    );
  };
  /** Waits until the first pending event has failed this often. @returns seconds between its last attempt and the next */
  const waitAfter = async (webhook: Webhook, attempts: number): Promise<number> => {
    const first = async () => (await deliveries(webhook, '?state=pending')).at(-1);
    const failed = await eventually(first, {
      until: (one) => one?.attempts === attempts && one.next_attempt_at !== null,
    });
    return (Date.parse(failed?.next_attempt_at ?? '') - Date.parse(failed?.last_attempt?.at ?? '')) / 1_000;
  };
  const rotate = async ({ id }: Webhook, hours: number): Promise<WebhookWithSecret> => {
    const path = `${webhooks}/${id}/secret`;
    return (await user.post<{ data: WebhookWithSecret }>(path, { overlap_hours: hours }, 200)).body.data;
  };
  /** Sends an event. @returns for each secret, true if it has signed the request */
  const signsWith = async (...secrets: string[]): Promise<boolean[]> => {
    const before = receiver.received.length;
    await say('signed by whom?');
    const request = (await received(before + 1)).at(-1);
    return secrets.map((secret) => {
      try {
        receiver.verify(request!, secret);
        return true;
      } catch {
        return false;
      }
    });
  };

  it('receives an event with the payload of the realtime channel, signed as Standard Webhooks describes', async () => {
    const webhook = await create({ events: ['message.new'] });
    await say('hello receiver');
    const [request] = await received(1);
    if (request === undefined) throw new Error('nothing was received');
    expect(() => receiver.verify(request, webhook.secret)).not.toThrow();
    expect(() => receiver.verify(request, `whsec_${randomBytes(24).toString('base64')}`)).toThrow();
    expect(request.body).toMatchObject({
      type: 'message.new',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        workspace_id: home.workspaceId,
        seq: expect.any(Number),
        message: { content: { text: 'hello receiver' } },
      },
    });
    const [delivery] = await allDelivered(webhook);
    expect(delivery).toMatchObject({
      id: request.id,
      event: 'message.new',
      attempts: 1,
      last_attempt: { status: 204, failure: null },
    });
  });

  it('receives all events of its workspace in order, and none of another', async () => {
    const webhook = await create();
    await uswarm.user();
    for (const text of ['one', 'two', 'three']) await say(text);
    await eventually(() => receiver.received.some(({ text }) => text.includes('"three"')));
    await allDelivered(webhook);
    const seqs = receiver.received.map(({ body }) => body.data['seq']);
    expect(seqs).toEqual(seqs.toSorted((a, b) => Number(a) - Number(b)));
    expect(receiver.received.every(({ body }) => body.data['workspace_id'] === home.workspaceId)).toBe(true);
    const texts = receiver.received.filter(({ body }) => body.type === 'message.new').map(({ text }) => text);
    expect(['one', 'two', 'three'].map((text, index) => texts[index]?.includes(`"${text}"`))).toEqual([
      true,
      true,
      true,
    ]);
  });

  it.each([
    [
      'answers 500',
      { status: 500, body: 'out of \u0000order' },
      { status: 500, failure: 'status', response: 'out of order' },
    ],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, { status: 302, failure: 'status' }],
    ['cuts the connection', 'cut', { status: null, failure: 'unreachable' }],
  ] as const)('sends an event again, before those after it, if the receiver %s', async (_what, answer, outcome) => {
    const webhook = await create({ events: ['message.new'] });
    receiver.answers.push(answer);
    await say('first');
    const failed = await eventually(() => deliveries(webhook), { until: ([one]) => one?.attempts === 1 });
    expect(failed[0]).toMatchObject({ state: 'pending', last_attempt: outcome });
    expect(Date.parse(failed[0]?.next_attempt_at ?? '') - Date.now()).toBeGreaterThan(1_000);
    expect((await state(webhook))?.failing_since).not.toBeNull();
    await say('second');
    await enable(webhook);
    await allDelivered(webhook);
    const [first, again, second] = receiver.received;
    expect(again?.id).toBe(first?.id);
    expect(second?.id).not.toBe(first?.id);
    expect((await state(webhook))?.failing_since).toBeNull();
  });

  it('waits as long as Retry-After asks', async () => {
    const webhook = await create();
    receiver.answers.push({ status: 429, headers: { 'retry-after': '3600' } });
    await say('busy?');
    const [last] = (await eventually(() => deliveries(webhook), { until: (all) => all.at(-1)?.attempts === 1 })).slice(
      -1,
    );
    expect(Date.parse(last?.next_attempt_at ?? '') - Date.now()).toBeGreaterThan(3_500_000);
    // New events do not make it due earlier.
    await say('still there?');
    await eventually(() => deliveries(webhook, '?state=pending'), { until: ({ length }) => length > 0 });
    expect(receiver.received).toHaveLength(1);
  });

  it('is disabled with a message after three days without success, and continues once it is enabled', async () => {
    const webhook = await create({ events: ['message.new'] });
    receiver.answers.push({ status: 503 }, { status: 503 });
    await say('anyone?');
    await eventually(() => deliveries(webhook), { until: ([one]) => one?.attempts === 1 });
    await age(webhook, 3);
    await eventually(() => state(webhook), { until: (now) => now?.state === 'disabled' });
    expect(await state(webhook)).toMatchObject({ disabled_reason: 'failing' });
    const messages = await user.get<MessagePage>(home.messages);
    expect(JSON.stringify(messages.body)).toContain('no attempt to send an event has succeeded for three days');
    await enable(webhook);
    await allDelivered(webhook);
    expect(receiver.received.at(2)?.id).toBe(receiver.received[0]?.id);
    expect(await state(webhook)).toMatchObject({ state: 'enabled', disabled_reason: null });
  });

  it('is disabled immediately by 410', async () => {
    const webhook = await create();
    receiver.answers.push({ status: 410 });
    await say('gone?');
    expect(await eventually(() => state(webhook), { until: (now) => now?.state === 'disabled' })).toMatchObject({
      disabled_reason: 'gone',
    });
  });

  it.each([
    ['paused', (path: string) => user.patch(path, { state: 'paused' }, 200)],
    ['deleted', (path: string) => user.delete(path, undefined, 204)],
  ])('is not called disabled if the user has %s it before a 410 arrives', async (ended, end) => {
    const webhook = await create({ events: ['message.new'] });
    const gate = Promise.withResolvers<void>();
    receiver.answers.push({ status: 410, after: gate.promise });
    await say('gone?');
    await received(1);
    await end(`${webhooks}/${webhook.id}`);
    gate.resolve();
    const jobs = uswarm.database.selectFrom('work').select('kind').where('subject_id', '=', webhook.id);
    expect(await eventually(() => jobs.execute(), { until: ({ length }) => length === 0 })).toEqual([]);
    const { body } = await user.get<MessagePage>(home.messages);
    expect(body.data.filter(({ role }) => role === 'system')).toEqual([]);
    expect((await state(webhook))?.state ?? 'deleted').toBe(ended);
  });

  it('is not disabled by the 410 of its former address, and receives the event at the new one', async () => {
    const webhook = await create({ events: ['message.new'], url: `${receiver.url}former` });
    const gate = Promise.withResolvers<void>();
    receiver.answers.push({ status: 410, after: gate.promise });
    await say('moved?');
    await received(1);
    await user.patch(`${webhooks}/${webhook.id}`, { url: receiver.url }, 200);
    gate.resolve();
    expect(await allDelivered(webhook)).toMatchObject([{ attempts: 1 }]);
    expect(await state(webhook)).toMatchObject({ state: 'enabled', failing_since: null });
  });

  it('receives a failed event immediately at a new address', async () => {
    const webhook = await create({ events: ['message.new'], url: `${receiver.url}former` });
    receiver.answers.push({ status: 500, headers: { 'retry-after': '3600' } });
    await say('moved?');
    await waitAfter(webhook, 1);
    await user.patch(`${webhooks}/${webhook.id}`, { url: receiver.url }, 200);
    expect(await allDelivered(webhook)).toMatchObject([{ attempts: 1 }]);
  });

  it('shows that it is disabled also in a workspace without a conversation', async () => {
    const webhook = await create({ events: ['conversation.deleted'] });
    receiver.answers.push({ status: 410 });
    await user.delete(home.conversation, undefined, 204);
    expect(await eventually(() => state(webhook), { until: (now) => now?.state === 'disabled' })).toMatchObject({
      disabled_reason: 'gone',
    });
    const { body } = await user.get<{ data: unknown[] }>(`${home.workspace}/conversations`);
    expect(body.data).toEqual([]);
  });

  it('waits for seconds again after it was disabled for days of failures, and enabled', async () => {
    const webhook = await create({ events: ['message.new'] });
    receiver.answers.push(...Array.from({ length: 4 }, () => ({ status: 500 })));
    await say('anyone?');
    await waitAfter(webhook, 1);
    await age(webhook, 3, 15);
    await eventually(() => state(webhook), { until: (now) => now?.state === 'disabled' });
    await enable(webhook);
    expect(await waitAfter(webhook, 1)).toBeLessThan(20);
    await age(webhook, 0);
    expect(await waitAfter(webhook, 2)).toBeLessThan(60);
  });

  it('waits for seconds also if it is enabled while an attempt fails', async () => {
    const webhook = await create({ events: ['message.new'] });
    const enabled = Promise.withResolvers<void>();
    receiver.answers.push({ status: 500 }, { status: 500, after: enabled.promise });
    await say('anyone?');
    await waitAfter(webhook, 1);
    await age(webhook, 3, 15);
    await received(2);
    await enable(webhook);
    enabled.resolve();
    expect(await waitAfter(webhook, 1)).toBeLessThan(20);
    expect(await state(webhook)).toMatchObject({ state: 'enabled' });
  });

  it.each([
    ['one event is', (path: string, id = '') => user.post(`${path}/deliveries/${id}/replay`, undefined, 202)],
    ['all events are', (path: string) => user.post(`${path}/replay`, { since: '2026-01-01T00:00:00Z' }, 202)],
  ])('waits for seconds again when %s sent again', async (_what, replay) => {
    const webhook = await create({ events: ['message.new'] });
    receiver.answers.push({ status: 500 });
    await say('at last');
    await waitAfter(webhook, 1);
    await age(webhook, 1, 15);
    const [delivery] = await allDelivered(webhook);
    receiver.answers.push({ status: 500 }, { status: 500 });
    await replay(`${webhooks}/${webhook.id}`, delivery?.id);
    expect(await waitAfter(webhook, 1)).toBeLessThan(20);
    await age(webhook, 0);
    expect(await waitAfter(webhook, 2)).toBeLessThan(60);
  });

  it('sends a failed event immediately after an earlier one succeeded, and begins its waits again', async () => {
    const webhook = await create({ events: ['message.new'] });
    await say('earlier');
    const [earlier] = await allDelivered(webhook);
    receiver.answers.push({ status: 500 });
    await say('later');
    await waitAfter(webhook, 1);
    await sql`
      UPDATE webhook_deliveries SET attempts = 15, failing_since = now() - interval '3 days', next_attempt_at = now() + interval '6 hours'
      WHERE webhook_id = ${webhook.id} AND state = 'pending'`.execute(uswarm.database);
    receiver.answers.push({ status: 204 }, { status: 500 });
    await user.post(`${webhooks}/${webhook.id}/deliveries/${earlier?.id}/replay`, undefined, 202);
    expect(await waitAfter(webhook, 1)).toBeLessThan(20);
    const [first, second, ...rest] = receiver.received.map(({ id }) => id);
    expect(rest).toEqual([first, second]);
    expect(await state(webhook)).toMatchObject({ state: 'enabled' });
  });

  it('receives what happened while it was paused', async () => {
    const webhook = await create({ events: ['message.new'] });
    await user.patch(`${webhooks}/${webhook.id}`, { state: 'paused' }, 200);
    await say('meanwhile');
    await enable(webhook);
    const [request] = await received(1);
    expect(request?.text).toContain('meanwhile');
  });

  it('receives events again that the user asks for, with the same id', async () => {
    const webhook = await create({ events: ['message.new'] });
    const since = new Date().toISOString();
    await say('again');
    const [delivery] = await allDelivered(webhook);
    await user.post(`${webhooks}/${webhook.id}/deliveries/${delivery?.id}/replay`, undefined, 202);
    await received(2);
    await allDelivered(webhook);
    const replay = await user.post<{ data: { deliveries: number } }>(
      `${webhooks}/${webhook.id}/replay`,
      { since },
      202,
    );
    expect(replay.body.data).toEqual({ deliveries: 1 });
    await received(3);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
  });

  it('does not receive an event about a message that is deleted meanwhile', async () => {
    const webhook = await create();
    receiver.answers.push({ status: 500 });
    await say('a secret of mine');
    await eventually(() => deliveries(webhook), { until: (all) => all.at(-1)?.attempts === 1 });
    await user.delete(home.conversation, undefined, 204);
    await enable(webhook);
    await allDelivered(webhook);
    const [, ...later] = receiver.received;
    expect(later.at(-1)?.body.type).toBe('conversation.deleted');
    expect(later.filter(({ text }) => text.includes('a secret of mine'))).toEqual([]);
  });

  it('has signatures of both secrets until the previous one expires', async () => {
    const webhook = await create({ events: ['message.new'] });
    const rotated = await rotate(webhook, 1);
    expect(rotated.previous_secret_expires_at).not.toBeNull();
    expect(await signsWith(webhook.secret, rotated.secret)).toEqual([true, true]);
    const last = await rotate(webhook, 0);
    expect(await signsWith(webhook.secret, rotated.secret, last.secret)).toEqual([false, false, true]);
  });

  it('has signatures of an older secret as long as it was promised, also if the secret is replaced again', async () => {
    const webhook = await create({ events: ['message.new'] });
    const second = await rotate(webhook, 1);
    const third = await rotate(webhook, 24);
    expect(await signsWith(webhook.secret, second.secret, third.secret)).toEqual([true, true, true]);
    await sql`
      UPDATE webhook_secrets SET expires_at = expires_at - interval '1 hour' WHERE webhook_id = ${webhook.id}`.execute(
      uswarm.database,
    );
    expect(await signsWith(webhook.secret, second.secret, third.secret)).toEqual([false, true, true]);
  });

  it('has at most ten signatures', async () => {
    const webhook = await create({ events: ['message.new'] });
    const secrets = [webhook.secret];
    for (let n = 1; n < 10; n += 1) secrets.push((await rotate(webhook, 24)).secret);
    expect(await signsWith(...secrets)).toEqual(secrets.map(() => true));
    secrets.push((await rotate(webhook, 24)).secret);
    expect(await signsWith(...secrets)).toEqual(secrets.map((_, index) => index > 0));
  });

  it('sends nothing unsigned if its secret cannot be decrypted, until the secret is replaced', async () => {
    const webhook = await create({ events: ['message.new'] });
    await sql`UPDATE webhook_secrets SET key_id = 'lost' WHERE webhook_id = ${webhook.id}`.execute(uswarm.database);
    await say('waits');
    const failed = await eventually(() => deliveries(webhook), { until: ([one]) => one?.attempts === 1 });
    expect(failed[0]).toMatchObject({ state: 'pending', last_attempt: { status: null, failure: 'secret_unreadable' } });
    const tested = await user.post<{ data: WebhookAttempt }>(`${webhooks}/${webhook.id}/test`, undefined, 200);
    expect(tested.body.data.failure).toBe('secret_unreadable');
    expect(receiver.received).toEqual([]);
    const { secret } = await rotate(webhook, 1);
    await enable(webhook);
    await allDelivered(webhook);
    const [request] = receiver.received;
    expect(() => receiver.verify(request!, secret)).not.toThrow();
  });

  it('has one current secret after concurrent rotations, and signatures of all', async () => {
    const webhook = await create({ events: ['message.new'] });
    const rotated = await Promise.all(Array.from({ length: 5 }, () => rotate(webhook, 1)));
    const secrets = [webhook, ...rotated].map(({ secret }) => secret);
    expect(await signsWith(...secrets)).toEqual(secrets.map(() => true));
    const { rows } = await sql`
      SELECT FROM webhook_secrets WHERE webhook_id = ${webhook.id} AND expires_at IS NULL`.execute(uswarm.database);
    expect(rows).toHaveLength(1);
  });

  it('can be tested, and a failed test changes nothing', async () => {
    const webhook = await create();
    const path = `${webhooks}/${webhook.id}/test`;
    receiver.answers.push({ status: 500, body: 'no' });
    const failed = await user.post<{ data: WebhookAttempt }>(path, undefined, 200);
    expect(failed.body.data).toMatchObject({ status: 500, response: 'no', failure: 'status' });
    const attempt = await user.post<{ data: WebhookAttempt }>(path, undefined, 200);
    expect(attempt.body.data).toMatchObject({ status: 204, failure: null });
    expect(receiver.received.map(({ body }) => body.type)).toEqual(['webhook.test', 'webhook.test']);
    expect(await deliveries(webhook)).toEqual([]);
    expect(await state(webhook)).toMatchObject({ state: 'enabled', failing_since: null });
  });

  it.each([
    'http://hooks.example.com/',
    'https://127.0.0.2/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://user:pass@hooks.example.com/',
    'https://hooks.example.com:8443/',
    'https://orchestrator.default.svc/',
    'https://uswarm.example.com/v1/hooks/secret',
    'nonsense',
  ])('cannot have the address %s', async (url) => {
    expect(await user.refusal('POST', webhooks, { url })).toBe('validation_failed');
  });

  it('has pages of deliveries', async () => {
    const webhook = await create({ events: ['message.new'] });
    for (const text of ['a', 'b', 'c']) await say(text);
    await received(3);
    await allDelivered(webhook);
    const path = `${webhooks}/${webhook.id}/deliveries?limit=2`;
    const first = await user.get<{ data: WebhookDelivery[]; pagination: { next_scroll_id: string } }>(path);
    const next = await user.get<{ data: WebhookDelivery[] }>(
      `${path}&scrollId=${first.body.pagination.next_scroll_id}`,
    );
    expect([first.body.data.length, next.body.data.length]).toEqual([2, 1]);
    expect(new Set([...first.body.data, ...next.body.data].map(({ id }) => id)).size).toBe(3);
  });

  it('belongs to its user, of whom a workspace has a limited number', async () => {
    const webhook = await create();
    const other = await uswarm.user();
    const foreign = `${(await uswarm.home(other)).workspace}/webhooks/${webhook.id}`;
    expect(await other.refusal('GET', webhooks)).toBe('workspace_not_found');
    expect(await other.refusal('POST', `${foreign}/test`)).toBe('webhook_not_found');
    expect(await other.refusal('DELETE', foreign)).toBe('webhook_not_found');
    await create();
    await create();
    expect(await user.refusal('POST', webhooks, { url: receiver.url })).toBe('webhook_limit_reached');
  });

  it('ends with its workspace', async () => {
    const webhook = await create();
    await user.delete(home.workspace, undefined, 204);
    const { rows } = await sql`SELECT FROM webhooks WHERE id = ${webhook.id}`.execute(uswarm.database);
    expect(rows).toEqual([]);
  });

  it('receives an event also if the process that stored it was killed', async () => {
    const webhook = await create();
    await say('before');
    await allDelivered(webhook);
    // Without its commit hook.
    await sql`
      WITH workspace AS (
        UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ${home.workspaceId} RETURNING id, last_seq
      )
      INSERT INTO workspace_events (workspace_id, seq, type, subject_id, created_at)
      SELECT id, last_seq, 'workspace.updated', id, now() FROM workspace`.execute(uswarm.database);
    const types = () => receiver.received.map(({ body }) => body.type);
    expect(await eventually(types, { until: (all) => all.includes('workspace.updated') })).toContain(
      'workspace.updated',
    );
  });
});

it('is refused if the operator has not enabled webhooks', async () => {
  const uswarm = await startTestOrchestrator();
  try {
    const user = await uswarm.user();
    const { workspace } = await uswarm.home(user);
    expect(await user.refusal('POST', `${workspace}/webhooks`, { url: 'https://hooks.example.com/' })).toBe(
      'webhooks_not_enabled',
    );
  } finally {
    await uswarm.close();
  }
});
