import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Conversation, MessageData } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type RunningValkey, startValkey } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const SENDS = 5;
interface Acknowledged {
  message_id: string;
}

describeWith('valkey', 'services as separate processes while Redis is unavailable', () => {
  let directory: string;
  let valkey: RunningValkey;
  let services: SeparateServices;
  let client: TestClient;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-outage-'));
    valkey = await startValkey({ directory });
    // Messages are stored without replies. Rate limits use Redis and allow all sends.
    const env = { TURN_WORKERS: '0', RUNTIME_WORKERS: '0' };
    const rates = Object.fromEntries(
      ['IP', 'USER', 'SENDS'].flatMap((name) => [
        [`RATE_${name}_PER_S`, '1000'],
        [`RATE_${name}_BURST`, '1000'],
      ]),
    );
    services = await startSeparateServices({ ...env, ...rates }, { redis: valkey.url });
  });
  afterAll(async () => {
    await services?.close();
    await valkey?.close();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await busBecomes('gateway', '1');
    await busBecomes('orchestrator', '1');
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(() => client?.close());

  type Service = keyof SeparateServices['operations'];
  const busUp = async (service: Service): Promise<string | undefined> =>
    /^uswarm_event_bus_up\{.*\} (\d)$/m.exec(
      await (await fetch(`${services.operations[service]}/metrics`)).text(),
    )?.[1];
  const busBecomes = async (service: Service, wanted: '0' | '1'): Promise<void> => {
    const up = await eventually(() => busUp(service), { until: (seen) => seen === wanted });
    expect([service, up]).toEqual([service, wanted]);
  };
  const unpublishedSeconds = async (): Promise<number> => {
    const text = await (await fetch(`${services.operations.orchestrator}/metrics`)).text();
    return Number(/^uswarm_relay_oldest_unpublished_seconds\{.*\} (\S+)$/m.exec(text)?.[1]);
  };
  const readiness = (): Promise<number[]> =>
    Promise.all(Object.values(services.operations).map(async (url) => (await fetch(`${url}/readyz`)).status));

  /** Sends over REST and over the socket. @returns all message ids, each of which was acknowledged */
  async function sendBothWays(): Promise<string[]> {
    const conversations = `/v1/workspaces/${client.workspaceId}/conversations`;
    // A separate conversation, because each accepts a limited number of unanswered messages.
    const conversation = await client.api('POST', conversations, { type: 'swarm' });
    expect(conversation.status).toBe(201);
    const { id } = (conversation.body as { data: Conversation }).data;
    const ids: string[] = [];
    for (let n = 0; n < SENDS; n += 1) {
      const draft = () => ({ local_id: randomUUID(), content: { type: 'text', text: `message ${n}` } });
      const answer = await client.api('POST', `${conversations}/${id}/messages`, draft());
      expect(answer.status).toBe(201);
      ids.push((answer.body as { data: MessageData }).data.id);
      const place = { workspace_id: client.workspaceId, conversation_id: id };
      const ack = (await client.socket.emitWithAck('message.send', { ...place, ...draft() })) as Acknowledged;
      expect(ack).toMatchObject({ ok: true });
      ids.push(ack.message_id);
    }
    return ids;
  }
  const seen = (id: string): boolean =>
    client.events.some(
      ({ name, payload }) => name === 'message.new' && (payload['message'] as MessageData | undefined)?.id === id,
    );

  /** All acknowledged messages are in the event log, without gaps. */
  async function nothingIsMissing(ids: readonly string[]): Promise<void> {
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/events?since=0`);
    const events = (body as { data: { seq: number; event: string; payload: { message?: MessageData } }[] }).data;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    const stored = events.filter(({ event }) => event === 'message.new').map(({ payload }) => payload.message?.id);
    expect(stored).toEqual(expect.arrayContaining([...ids]));
    expect(new Set(stored).size).toBe(stored.length);
  }

  it('acknowledges each send and stays ready while Redis is down, and delivers the events afterwards', async () => {
    await valkey.kill();
    await busBecomes('orchestrator', '0');
    await busBecomes('gateway', '0');
    client.socket.emit('workspace.subscribe', { workspace_ids: [randomUUID()] });
    const ids = await sendBothWays();
    expect(await readiness()).toEqual([200, 200]);
    expect(ids.filter(seen)).toEqual([]);
    // All events are published before the gateway is connected again: the bus loses them.
    process.kill(services.gateway.pid, 'SIGSTOP');
    try {
      await valkey.restart();
      await busBecomes('orchestrator', '1');
      await eventually(unpublishedSeconds, { until: (seconds) => seconds === 0 });
    } finally {
      process.kill(services.gateway.pid, 'SIGCONT');
    }
    for (const id of ids) {
      await client.saw('message.new', ({ message }: { message: MessageData }) => message.id === id);
    }
    await nothingIsMissing(ids);
  });

  it('acknowledges each send while Redis hangs, and delivers the events after Redis recovers', async () => {
    const before = await sendBothWays();
    process.kill(valkey.pid, 'SIGSTOP');
    let during: string[] = [];
    try {
      // Traffic continues until both services detect the failure: writes must not keep a dead connection alive.
      while ((await busUp('orchestrator')) === '1' || (await busUp('gateway')) === '1') {
        client.socket.emit('workspace.subscribe', { workspace_ids: [randomUUID()] });
        during = [...during, ...(await sendBothWays())];
      }
      expect(await readiness()).toEqual([200, 200]);
      during = [...during, ...(await sendBothWays())];
    } finally {
      process.kill(valkey.pid, 'SIGCONT');
    }
    await busBecomes('gateway', '1');
    await busBecomes('orchestrator', '1');
    const after = await sendBothWays();
    for (const id of after) {
      await client.saw('message.new', ({ message }: { message: MessageData }) => message.id === id);
    }
    await nothingIsMissing([...before, ...during, ...after]);
  });
});
