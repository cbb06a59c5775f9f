import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Conversation, INTERNAL_PATHS, type MessageData } from '@uswarm/contract';
import { parseSigningKey, Registry, signInternalToken } from '@uswarm/service-kit';
import { sql } from 'kysely';
import { request } from 'undici';
import webPush from 'web-push';
import { untilBlocked } from '../../../test/lock-waits.js';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';
import type { WithTransaction } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createJobQueue, type LeasedJob } from '../../platform/jobs/job-queue.js';
import { createPushHandler, createWithdrawalHandler } from './push-handler.js';
import { createPushJobs, PUSH_JOB, PUSH_WITHDRAWAL_JOB } from '../../records/push-jobs.js';
import { createPushMetrics, type PushMetrics } from './push-metrics.js';
import type { PushAddress, PushMessage, PushResult } from './push-sender.js';
import { dropToken, listPushDevices } from './push.store.js';

const NEVER = new AbortController().signal;
/** A push service is configured, and the tests run its jobs. */
const PUSH = {
  WEB_PUSH_PRIVATE_KEY: webPush.generateVAPIDKeys().privateKey,
  WEB_PUSH_CONTACT: 'mailto:ops@example.com',
  UPKEEP_WORKERS: '0',
};

describe('push jobs', () => {
  let uswarm: TestOrchestrator;
  let withTransaction: WithTransaction;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: PUSH });
    withTransaction = createWithTransaction(uswarm.database);
  });
  afterAll(() => uswarm.close());

  let user: TestUser;
  let userId: string;
  let home: Home;
  let messageId: string;
  let seq: number;
  let whileSending: () => Promise<void>;
  /** Results by token; the default is `sent`. */
  let results: Record<string, PushResult>;
  let sent: { token: string; message: PushMessage }[];

  beforeEach(async () => {
    user = await uswarm.user();
    [userId, home] = [await uswarm.idOf(user), await uswarm.home(user)];
    for (const device of ['phone', 'tablet']) await register(device, tokenOf(device));
    const message = { content: { type: 'text', text: 'Tea at five' } };
    messageId = (await user.post<{ data: MessageData }>(home.messages, message, 201)).body.data.id;
    seq = await lastSeq();
    await sql`
      INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal, run_at)
      VALUES (${PUSH_JOB}, ${messageId}, ${home.workspaceId}, ${messageId}, ${seq}, now() + interval '1 hour')`.execute(
      uswarm.database,
    );
    [results, sent] = [{}, []];
    whileSending = () => Promise.resolve();
  });

  const tokenOf = (device: string) => `${device} of ${user.email}`;
  const register = (device: string, token: string) =>
    user.with({ 'x-device-id': device }).post('/v1/push-token', { push_token: token }, 200);
  const lastSeq = async (): Promise<number> =>
    (
      await uswarm.database
        .selectFrom('workspaces')
        .select('last_seq')
        .where('id', '=', home.workspaceId)
        .executeTakeFirstOrThrow()
    ).last_seq;

  const leased = (kind: string, subjectId: string, attempts: number): LeasedJob => ({
    kind,
    subjectId,
    workspaceId: home.workspaceId,
    leaseId: crypto.randomUUID(),
    attempts,
    failures: 0,
    takenOver: false,
  });
  const depsWith = (metrics: PushMetrics) => ({
    database: uswarm.database,
    senders: {
      fcm: {
        send: async ({ token }: PushAddress, message: PushMessage) => {
          sent.push({ token, message });
          await whileSending();
          return results[token] ?? 'sent';
        },
      },
    },
    withTransaction,
    jobs: createPushJobs(createJobQueue(uswarm.database), 0),
    preview: true,
    metrics,
  });
  const handle = (attempts = 1, metrics = createPushMetrics(new Registry())) =>
    createPushHandler(depsWith(metrics))(leased(PUSH_JOB, messageId, attempts), NEVER);
  /** Handles the withdrawal job. @returns undefined without a job */
  async function withdraw(attempts = 1, metrics = createPushMetrics(new Registry())) {
    const { rows } = await sql<{ id: string }>`
      SELECT subject_id AS id FROM work WHERE kind = ${PUSH_WITHDRAWAL_JOB} AND workspace_id = ${home.workspaceId}`.execute(
      uswarm.database,
    );
    return (
      rows[0] && createWithdrawalHandler(depsWith(metrics))(leased(PUSH_WITHDRAWAL_JOB, rows[0].id, attempts), NEVER)
    );
  }
  const tokens = () => sent.map(({ token }) => token);

  interface Position {
    user_id: string;
    device_id: string;
    workspace_id: string;
    seq: number;
  }
  const position = (more: Partial<Position> = {}): Position => ({
    user_id: userId,
    device_id: 'phone',
    workspace_id: home.workspaceId,
    seq,
    ...more,
  });
  async function report(positions: readonly Position[], key = uswarm.internalKey) {
    const service = await signInternalToken(parseSigningKey(key), 'gateway');
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.devicePositions}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
      body: JSON.stringify({ positions }),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  }
  const stored = () =>
    uswarm.database
      .selectFrom('device_positions')
      .select(['device_id', 'seq'])
      .where('workspace_id', '=', home.workspaceId)
      .orderBy('device_id')
      .execute();

  it('notify all devices of the user', async () => {
    expect(await handle()).toEqual({ done: true });
    expect(tokens()).toEqual([tokenOf('phone'), tokenOf('tablet')]);
    expect(sent[0]?.message).toMatchObject({ alert: { body: 'Tea at five' }, collapseKey: messageId });
  });

  it('notify no device if one of them has received the message', async () => {
    await report([position()]);
    expect(await handle()).toEqual({ done: true });
    expect(tokens()).toEqual([]);
  });

  it('notify the devices if the position belongs to another epoch', async () => {
    await sql`
      INSERT INTO device_positions (user_id, device_id, workspace_id, seq)
      VALUES (${userId}, 'phone', ${home.workspaceId}, ${seq + 1_000})`.execute(uswarm.database);
    await handle();
    expect(tokens()).toHaveLength(2);
  });

  it('end without a notification if the message was deleted', async () => {
    await sql`DELETE FROM messages WHERE id = ${messageId}`.execute(uswarm.database);
    expect(await handle()).toEqual({ done: true });
    expect(tokens()).toEqual([]);
  });

  it('do not announce a message after an hour', async () => {
    await sql`UPDATE work SET created_at = now() - interval '61 minutes' WHERE subject_id = ${messageId}`.execute(
      uswarm.database,
    );
    expect(await handle()).toEqual({ done: true });
    expect(tokens()).toEqual([]);
  });

  it('repeat a notification only for the devices that did not receive it', async () => {
    results = { [tokenOf('tablet')]: { retryInMs: 90_000 } };
    expect(await handle()).toEqual({ againInMs: 90_000 });
    sent = [];
    results = {};
    expect(await handle(2)).toEqual({ done: true });
    expect(tokens()).toEqual([tokenOf('tablet')]);
  });

  it('wait longer after each attempt, and at least as long as the service asks for', async () => {
    results = { [tokenOf('phone')]: { retryInMs: 1 }, [tokenOf('tablet')]: { retryInMs: 1 } };
    const waits: number[] = [];
    for (const attempts of [1, 2, 3, 20]) {
      const result = await handle(attempts);
      waits.push('againInMs' in result ? result.againInMs : 0);
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeGreaterThan(1_000);
    expect(waits[3]).toBeLessThanOrEqual(600_000);
    results = { [tokenOf('phone')]: { retryInMs: 1_700_000 } };
    expect(await handle()).toEqual({ againInMs: 1_700_000 });
  });

  it('remove a token that is no longer registered', async () => {
    results = { [tokenOf('phone')]: 'unregistered' };
    expect(await handle()).toEqual({ done: true });
    const registered = await uswarm.database
      .selectFrom('devices')
      .select('device_id')
      .where('user_id', '=', userId)
      .where('push_token', 'is not', null)
      .execute();
    expect(registered).toEqual([{ device_id: 'tablet' }]);
  });

  it('keep the token of a device that registered again meanwhile', async () => {
    await register('phone', `new ${tokenOf('phone')}`);
    await dropToken(uswarm.database, userId, { deviceId: 'phone', token: tokenOf('phone') });
    expect((await listPushDevices(uswarm.database, userId, messageId))[0]?.token).toBe(`new ${tokenOf('phone')}`);
  });

  it('are counted by outcome', async () => {
    const registry = new Registry();
    results = { [tokenOf('phone')]: 'rejected', [tokenOf('tablet')]: { retryInMs: 1 } };
    await handle(1, createPushMetrics(registry));
    const text = await registry.getSingleMetricAsString('uswarm_push_notifications_total');
    expect(text).toContain('uswarm_push_notifications_total{service="fcm",outcome="rejected"} 1');
    expect(text).toContain('uswarm_push_notifications_total{service="fcm",outcome="retried"} 1');
    expect(text).toContain('uswarm_push_notifications_total{service="fcm",outcome="sent"} 0');
  });

  const conversation = () => `/v1/workspaces/${home.workspaceId}/conversations/${home.conversationId}`;
  const read = (id?: string) => user.post(`${conversation()}/read`, id === undefined ? {} : { message_id: id }, 204);
  /** An agent's message is unread. */
  const fromAgent = () => sql`UPDATE messages SET role = 'agent' WHERE id = ${messageId}`.execute(uswarm.database);
  const withdrawals = () => sent.filter(({ message }) => message.alert === null);

  it('notify no device of a muted conversation', async () => {
    const { body } = await user.patch<{ data: Conversation }>(conversation(), { muted: true }, 200);
    expect(body.data.muted).toBe(true);
    expect(await handle()).toEqual({ done: true });
    await user.patch(conversation(), { muted: false }, 200);
    expect(tokens()).toEqual([]);
    await handle();
    expect(tokens()).toHaveLength(2);
  });

  it('announce to other devices that a conversation is muted, once', async () => {
    const before = await lastSeq();
    for (const muted of [true, true]) await user.patch(conversation(), { muted }, 200);
    const events = await uswarm.database
      .selectFrom('workspace_events')
      .select('type')
      .where('workspace_id', '=', home.workspaceId)
      .where('seq', '>', before)
      .execute();
    expect(events).toEqual([{ type: 'conversation.updated' }]);
  });

  it('notify no device if the user has read the message, without a position', async () => {
    await read();
    await handle();
    expect(tokens()).toEqual([]);
  });

  it('notify no device of a service without settings', async () => {
    await user.with({ 'x-device-id': 'phone' }).post('/v1/push-token', { push_token: 'apple', service: 'apns' }, 200);
    await handle();
    expect(tokens()).toEqual([tokenOf('tablet')]);
  });

  it('have the number of messages that are unread or wait for a decision as their badge', async () => {
    await fromAgent();
    await handle();
    expect(sent[0]?.message.badge).toBe(1);
  });

  describe('whose message the user reads afterwards', () => {
    beforeEach(async () => {
      await fromAgent();
      await handle();
      sent = [];
    });

    it('withdraw the notification from the devices that show it, once', async () => {
      await read();
      expect(await withdraw()).toEqual({ done: true });
      expect(tokens()).toEqual([tokenOf('phone'), tokenOf('tablet')]);
      expect(withdrawals()[0]?.message).toMatchObject({
        collapseKey: messageId,
        badge: 0,
        data: { type: 'withdrawal', message_ids: messageId },
      });
      sent = [];
      await withdraw();
      expect(tokens()).toEqual([]);
    });

    it('withdraw nothing while the message is unread', async () => {
      expect(await withdraw()).toBeUndefined();
    });

    it('withdraw the notification again only from the device that did not receive the withdrawal', async () => {
      await read();
      results = { [tokenOf('tablet')]: { retryInMs: 90_000 } };
      expect(await withdraw()).toEqual({ againInMs: 90_000 });
      [results, sent] = [{}, []];
      expect(await withdraw(2)).toEqual({ done: true });
      expect(tokens()).toEqual([tokenOf('tablet')]);
    });

    it('give up the withdrawal after 20 attempts', async () => {
      await read();
      results = { [tokenOf('phone')]: { retryInMs: 1 } };
      expect(await withdraw(20)).toEqual({ done: true });
    });

    it('count withdrawals by service and outcome', async () => {
      const registry = new Registry();
      await read();
      await withdraw(1, createPushMetrics(registry));
      const text = await registry.getSingleMetricAsString('uswarm_push_withdrawals_total');
      expect(text).toContain('uswarm_push_withdrawals_total{service="fcm",outcome="sent"} 2');
    });
  });

  it('withdraw a notification whose message was read while it was sent', async () => {
    await fromAgent();
    whileSending = async () => {
      whileSending = () => Promise.resolve();
      await read();
    };
    await handle();
    sent = [];
    expect(await withdraw()).toEqual({ done: true });
    expect(withdrawals()).toHaveLength(2);
  });

  describe('the positions of devices', () => {
    it('are stored for the devices of a report, and replaced by the next one', async () => {
      const tablet = position({ device_id: 'tablet', seq: 1 });
      expect(await report([position(), tablet, position({ seq: 1 })])).toEqual({ status: 200, body: {} });
      expect(await stored()).toEqual([
        { device_id: 'phone', seq },
        { device_id: 'tablet', seq: 1 },
      ]);
      await report([position({ seq: 1 })]);
      expect((await stored())[0]).toEqual({ device_id: 'phone', seq: 1 });
    });

    it('are ignored for workspaces of others, unknown devices and sequences that do not exist', async () => {
      const other = await uswarm.idOf(await uswarm.user());
      const ignored = [
        position({ user_id: other }),
        position({ device_id: 'unknown' }),
        position({ workspace_id: crypto.randomUUID() }),
        position({ seq: seq + 1 }),
      ];
      expect((await report(ignored)).status).toBe(200);
      expect(await stored()).toEqual([]);
    });

    it.each([
      ['device', sql`DELETE FROM devices WHERE device_id = 'phone' AND user_id = `, ['tablet']],
      ['workspace', sql`DELETE FROM workspaces WHERE owner_id = `, []],
    ])('are stored without those of a %s that is deleted meanwhile', async (_deleted, deleteOf, left) => {
      const { answer } = await uswarm.database.transaction().execute(async (tx) => {
        await sql`${deleteOf} ${userId}`.execute(tx);
        const started = report([position(), position({ device_id: 'tablet' })]);
        await untilBlocked(uswarm.database);
        return { answer: started };
      });
      expect((await answer).status).toBe(200);
      expect((await stored()).map(({ device_id }) => device_id)).toEqual(left);
    });

    it('are rejected without the key of the internal API', async () => {
      expect((await report([position()], 'other:0123456789abcdef0123456789abcdef')).status).toBe(401);
      expect(await stored()).toEqual([]);
    });
  });
});
