import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { BUS_VERSION_HEADER, GATEWAY_ID_HEADER, INTERNAL_PATHS, type Schedule } from '@uswarm/contract';
import { createECDH, randomUUID } from 'node:crypto';
import { type PushServer, startPushServer, startWebPushServer, type WebPushServer } from '@uswarm/dev-servers';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { type AppServers, type AppUser, startAppServers, startAppUser } from '../test/app-servers.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const DEVICE = 'phone';
const MAIL = { name: 'send_mail', arguments: { to: ['bob@example.com'], subject: 'Lunch', body: 'Are you free?' } };

describeWith('valkey', 'push notifications', () => {
  let servers: AppServers;
  let push: PushServer;
  let browsers: WebPushServer;
  let services: SeparateServices;
  let user: AppUser;
  let token: string;

  beforeAll(async () => {
    servers = await startAppServers((message) => (message.includes('mail') ? [MAIL] : []));
    push = await startPushServer();
    browsers = await startWebPushServer();
    const pair = createECDH('prime256v1');
    pair.generateKeys();
    services = await startSeparateServices({
      ...servers.env,
      PUSH_SERVICE_ACCOUNT: push.serviceAccount,
      PUSH_URL: push.url,
      WEB_PUSH_PRIVATE_KEY: Buffer.from(pair.getPrivateKey('hex').padStart(64, '0'), 'hex').toString('base64url'),
      WEB_PUSH_CONTACT: 'mailto:ops@example.com',
      WEB_PUSH_PRIVATE_HOSTS: '127.0.0.1',
      // The tests end the wait.
      PUSH_DELAY_MS: '600000',
    });
  });
  afterAll(async () => {
    await services?.close();
    await push?.close();
    await browsers?.close();
    await servers?.close();
  });
  beforeEach(async () => {
    user = await startAppUser(services, servers);
    token = `token-${randomUUID()}`;
    await post('/v1/push-token', { push_token: token }, DEVICE);
  });
  afterEach(() => user?.close());

  async function post(path: string, body: object, device: string): Promise<void> {
    const answer = await fetch(`${services.restUrl}${path}`, {
      method: 'POST',
      headers: { 'x-token': user.token, 'x-device-id': device, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  }
  const jobs = () =>
    services.query<{ subject_id: string; ordinal: number }>(
      `SELECT subject_id, ordinal::int FROM work WHERE kind = 'push' AND workspace_id = $1`,
      [user.workspaceId],
    );
  /** Ends the wait before a notification. After a crash, also ends the lease. */
  const makeDue = () =>
    services.query(
      `UPDATE work SET run_at = now(), lease_expires_at = now() WHERE kind = 'push' AND workspace_id = $1`,
      [user.workspaceId],
    );
  const jobsEnded = () => eventually(jobs, { until: ({ length }) => length === 0 });
  const received = () => push.sent.filter((sent) => sent.token === token);
  const pushed = (count = 1) =>
    eventually(() => Promise.resolve(received()), { until: ({ length }) => length >= count });

  /** Asks, waits for the answer, and goes offline. @returns the reply id */
  async function askAndLeave(text: string): Promise<string> {
    await user.send(text);
    const replyId = await user.replies(1);
    user.close();
    return replyId;
  }
  /** Reports what the device has received, as gateways do. */
  async function report(seq: number): Promise<number> {
    const service = await signInternalToken(parseSigningKey(services.internal.key), 'gateway');
    const [owner] = await services.query<{ owner_id: string }>('SELECT owner_id FROM workspaces WHERE id = $1', [
      user.workspaceId,
    ]);
    const positions = [{ user_id: owner?.owner_id, device_id: DEVICE, workspace_id: user.workspaceId, seq }];
    const { status } = await fetch(`${services.internal.url}${INTERNAL_PATHS.devicePositions}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service}`,
        'content-type': 'application/json',
        [BUS_VERSION_HEADER]: '2',
        [GATEWAY_ID_HEADER]: randomUUID(),
      },
      body: JSON.stringify({ positions }),
    });
    return status;
  }

  it('REST-004 POST /v1/push-token lets the device receive one notification of an answer that no device has seen', async () => {
    const replyId = await askAndLeave('Hello');
    await makeDue();
    await jobsEnded();
    expect(received()).toMatchObject([
      {
        token,
        notification: { title: expect.any(String), body: 'Hello.' },
        data: {
          type: 'answer',
          workspace_id: user.workspaceId,
          conversation_id: user.conversationId,
          message_id: replyId,
        },
        collapseKeys: [replyId, replyId, replyId.replaceAll('-', '')],
      },
    ]);
  });

  it('REST-004 are not sent for an answer that a device has acknowledged', async () => {
    await askAndLeave('Hello');
    const [job] = await jobs();
    expect(await report(job?.ordinal ?? 0)).toBe(200);
    await makeDue();
    await jobsEnded();
    expect(received()).toEqual([]);
  });

  it('are not sent for an answer that a device has acknowledged to its gateway', async () => {
    const credentials = () => ({ 'x-token': user.token, 'x-device-id': DEVICE });
    const phone = await startTestClient({ ...services, token: user.token, credentials });
    await phone.send('Hello');
    const { payload } = await phone.saw('message.done');
    phone.socket.emit('position', { [phone.workspaceId]: payload['seq'] });
    const positions = 'SELECT seq FROM device_positions WHERE workspace_id = $1';
    await eventually(() => services.query(positions, [phone.workspaceId]), { until: ({ length }) => length > 0 });
    phone.close();
    await makeDue();
    await jobsEnded();
    expect(received()).toEqual([]);
  });

  it('are sent if a device has acknowledged only what came before the end of the answer', async () => {
    await askAndLeave('Hello');
    const [job] = await jobs();
    expect(await report((job?.ordinal ?? 0) - 1)).toBe(200);
    await makeDue();
    expect(await pushed()).toHaveLength(1);
  });

  it('are sent although the orchestrator was killed between the answer and its notification', async () => {
    const replyId = await askAndLeave('Hello');
    await services.kill('the orchestrator', user.workspaceId);
    await makeDue();
    await services.recover('the orchestrator');
    await jobsEnded();
    expect(received().map(({ data }) => data['message_id'])).toEqual([replyId]);
  });

  it('are repeated with the same collapse key if the orchestrator was killed while it sent one', async () => {
    push.failNext('hang', token);
    const replyId = await askAndLeave('Hello');
    await makeDue();
    await pushed();
    await services.kill('the orchestrator', user.workspaceId);
    await makeDue();
    await services.recover('the orchestrator');
    await jobsEnded();
    const key = [replyId, replyId, replyId.replaceAll('-', '')];
    expect(received().map(({ collapseKeys }) => collapseKeys)).toEqual([key, key]);
  });

  it('reach browsers too, and are withdrawn from all devices when the user has read the answer', async () => {
    const { endpoint, keys } = browsers.subscribe();
    await post('/v1/push-token', { push_token: endpoint, service: 'web_push', keys }, 'browser');
    const inBrowser = (count: number) =>
      eventually(() => Promise.resolve(browsers.received.filter((each) => each.endpoint === endpoint)), {
        until: ({ length }) => length >= count,
      });
    const replyId = await askAndLeave('Hello');
    await makeDue();
    const [shown] = await inBrowser(1);
    await jobsEnded();
    expect(shown?.payload).toMatchObject({ body: 'Hello.', badge: 1, data: { message_id: replyId } });
    await post(`/v1/workspaces/${user.workspaceId}/conversations/${user.conversationId}/read`, {}, 'tablet');
    const [, withdrawn] = await inBrowser(2);
    expect(withdrawn?.payload).toEqual({
      badge: 0,
      data: {
        type: 'withdrawal',
        workspace_id: user.workspaceId,
        conversation_id: user.conversationId,
        message_ids: replyId,
      },
    });
    expect((await pushed(2))[1]).toMatchObject({ notification: null, data: { message_ids: replyId, badge: '0' } });
  });

  it('tell the user that a card waits for a decision', async () => {
    await user.connect('gmail');
    await user.send('Write the mail');
    const card = await user.card();
    await makeDue();
    const [sent] = await pushed();
    expect(sent).toMatchObject({
      notification: { title: 'Your decision is needed', body: card.content.title },
      data: { type: 'decision', message_id: card.id },
    });
  });

  it('tell the user that a run of a schedule waits for a decision', async () => {
    await user.connect('gmail');
    const schedules = `/v1/workspaces/${user.workspaceId}/schedules`;
    const daily = {
      title: 'Lunch',
      prompt: 'Write the mail',
      start_time: '2030-01-01T08:00:00',
      time_zone: 'Europe/Berlin',
    };
    const { body } = await user.api('POST', schedules, daily);
    const { id } = (body as { data: Schedule }).data;
    expect((await user.api('POST', `${schedules}/${id}/run`)).status).toBe(201);
    const card = await user.card();
    await makeDue();
    const [sent] = await pushed();
    expect(sent).toMatchObject({
      notification: { title: 'Your decision is needed', body: card.content.title },
      data: { type: 'decision', message_id: card.id, conversation_id: card.conversation_id },
    });
    expect(card.conversation_id).not.toBe(user.conversationId);
  });

  it('are not sent for a card that was decided meanwhile', async () => {
    await user.connect('gmail');
    await user.send('Write the mail');
    const card = await user.card();
    await eventually(jobs, { until: ({ length }) => length > 0 });
    await user.choose(card, 'deny');
    await makeDue();
    await eventually(jobs, { until: (open) => open.every(({ subject_id: id }) => id !== card.id) });
    expect(received().filter(({ data }) => data['type'] === 'decision')).toEqual([]);
  });
});
