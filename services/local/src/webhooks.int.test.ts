import { rm } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { WebhookWithSecret } from '@uswarm/contract';
import { freePort } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { fillDataFolder } from '@uswarm/testkit/local-data';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { startWebhookReceiver, type WebhookReceiver } from '@uswarm/testkit/webhook-receiver';
import { newDataFolder, type RunningProgram, runLocalMode } from '../test/local.js';

describe('a webhook of a workspace', () => {
  let settings: Record<string, string>;
  let local: RunningProgram;
  let receiver: WebhookReceiver;
  let client: TestClient;
  let webhook: WebhookWithSecret;
  beforeAll(async () => {
    const directory = await newDataFolder();
    await fillDataFolder(directory);
    settings = {
      USWARM_DATA_DIR: directory,
      USWARM_PORT: String(await freePort()),
      USER_WEBHOOKS: 'true',
      USER_WEBHOOKS_PRIVATE_HOSTS: '127.0.0.1',
    };
    local = await runLocalMode(settings);
    receiver = await startWebhookReceiver();
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    const created = await client.api('POST', `/v1/workspaces/${client.workspaceId}/webhooks`, { url: receiver.url });
    webhook = (created.body as { data: WebhookWithSecret }).data;
  });
  afterAll(async () => {
    client?.close();
    await receiver?.close();
    await local?.stop();
    await rm(path.dirname(settings['USWARM_DATA_DIR'] ?? ''), { recursive: true, force: true });
  });

  it('receives a question and its answer, as a client does', async () => {
    const { answer } = await client.ask('hello');
    const done = await eventually(() => receiver.received.find(({ body }) => body.type === 'message.done'));
    expect(done.body.data).toMatchObject({ message_id: answer.id, status: 'delivered' });
    expect(() => receiver.verify(done, webhook.secret)).not.toThrow();
  });

  it('receives an event again, and all later ones in order, if everything is killed while it is sent', async () => {
    await eventually(() => receiver.received.some(({ body }) => body.type === 'message.done'));
    receiver.answers.push('hang');
    const before = receiver.received.length;
    await client.send('and now?');
    const [interrupted] = await eventually(() => receiver.received.slice(before), {
      until: ({ length }) => length > 0,
    });
    await local.program.stop('SIGKILL');
    local = await runLocalMode(settings);
    await eventually(() => receiver.received.slice(before).some(({ body }) => body.type === 'message.done'));
    const requests = receiver.received.slice(before);
    expect(requests[1]?.id).toBe(interrupted?.id);
    const seqs = requests.map(({ body }) => Number(body.data['seq']));
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect(new Set(requests.map(({ id }) => id)).size).toBe(requests.length - 1);
  });
});
