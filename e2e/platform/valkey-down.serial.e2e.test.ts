import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import type { TestClient } from '@uswarm/testkit/test-client';
import { type Kinds, type ObjectWatch, NAMESPACE, openSession, type Session, watchObjects } from '../support/index.js';
import { signUp } from '../support/sign-up.js';

const VALKEY = 'uswarm-valkey';
const SERVICES = ['uswarm-orchestrator', 'uswarm-realtime-gateway'];
const OUTAGE_MS = 60_000;
/** Interval of messages in milliseconds, within the rate limit. */
const SEND_EVERY_MS = 1_000;
/** Messages per conversation; its queue accepts 20 turns. */
const PER_CONVERSATION = 10;

let session: Session;
let mobile: TestClient;
let slices: ObjectWatch<Kinds['EndpointSlice']>;
beforeAll(async () => {
  session = await openSession();
  mobile = await signUp(session);
  slices = await watchObjects(session.api, 'EndpointSlice', { namespace: NAMESPACE.release });
});
afterAll(async () => {
  slices?.stop();
  await session?.close();
});

async function scaleValkey(replicas: number): Promise<void> {
  const { kubectl } = session.tools;
  await kubectl(['scale', '-n', NAMESPACE.release, `deployment/${VALKEY}`, `--replicas=${replicas}`]);
  const selector = '--selector=app.kubernetes.io/component=valkey';
  const until =
    replicas === 0
      ? ['wait', '--for=delete', 'pod', '-n', NAMESPACE.release, selector, '--timeout=60s']
      : ['rollout', 'status', '-n', NAMESPACE.release, `deployment/${VALKEY}`, '--timeout=60s'];
  await kubectl(until, { timeoutMs: 70_000 });
}

const serviceOf = (slice: Kinds['EndpointSlice']): string =>
  slice.metadata?.labels?.['kubernetes.io/service-name'] ?? '';
const readyEndpoints = (slice: Kinds['EndpointSlice']): number =>
  (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).length;
/** The current number of endpoints per service. */
const endpointsNow = (): Record<string, number> =>
  Object.fromEntries(
    SERVICES.map((service) => [
      service,
      slices
        .all()
        .filter((slice) => serviceOf(slice) === service)
        .reduce((sum, slice) => sum + readyEndpoints(slice), 0),
    ]),
  );

interface Sent {
  /** Acknowledged message ids. */
  ids: string[];
  /** Errors, with the transport. */
  refused: unknown[];
}

const conversationsPath = (): string => `/v1/workspaces/${mobile.workspaceId}/conversations`;

async function newConversation(): Promise<string> {
  const { status, body } = await mobile.api('POST', conversationsPath(), { type: 'swarm' });
  expect(status).toBe(201);
  return (body as { data: { id: string } }).data.id;
}

/** Sends one message over REST and one over the socket. */
async function sendBothWays(conversationId: string, sent: Sent): Promise<void> {
  const draft = () => ({ local_id: randomUUID(), content: { type: 'text', text: 'while Valkey is down' } });
  const rest = await mobile.api('POST', `${conversationsPath()}/${conversationId}/messages`, draft());
  if (rest.status === 201) sent.ids.push((rest.body as { data: MessageData }).data.id);
  else sent.refused.push({ rest });
  const place = { workspace_id: mobile.workspaceId, conversation_id: conversationId };
  const socket = (await mobile.socket
    .timeout(15_000)
    .emitWithAck('message.send', { ...place, ...draft() })
    .catch((error: unknown) => ({ error: String(error) }))) as { ok?: true; message_id?: string };
  if (socket.ok === true && socket.message_id !== undefined) sent.ids.push(socket.message_id);
  else sent.refused.push({ socket });
}

async function sendFor(durationMs: number): Promise<Sent> {
  const sent: Sent = { ids: [], refused: [] };
  const until = performance.now() + durationMs;
  while (performance.now() < until) {
    const conversationId = await newConversation();
    for (let n = 0; n < PER_CONVERSATION / 2; n += 1) {
      await sendBothWays(conversationId, sent);
      await sleep(SEND_EVERY_MS);
    }
  }
  return sent;
}

describe('an outage of Valkey', () => {
  let sent: Sent;
  let fewest: Record<string, number>;

  beforeAll(async () => {
    fewest = endpointsNow();
    slices.onChange(() => {
      const now = endpointsNow();
      for (const service of SERVICES) fewest[service] = Math.min(fewest[service] ?? 0, now[service] ?? 0);
    });
    await scaleValkey(0);
    session.onClose(() => scaleValkey(1));
    sent = await sendFor(OUTAGE_MS);
  });

  it('does not prevent the acknowledgement of messages sent by REST and by socket', () => {
    expect(sent.refused).toEqual([]);
    expect(sent.ids.length).toBeGreaterThan(20);
  });

  it('does not remove endpoints of orchestrator and gateway', () => {
    expect(Object.keys(fewest)).toEqual(SERVICES);
    expect(SERVICES.filter((service) => fewest[service] === 0)).toEqual([]);
  });

  it('loses no message: events are delivered after the recovery, and the log is complete', async () => {
    await scaleValkey(1);
    const afterwards: Sent = { ids: [], refused: [] };
    const shown = (id: string): boolean =>
      mobile.events.some(
        ({ name, payload }) => name === 'message.new' && (payload['message'] as MessageData | undefined)?.id === id,
      );
    // Connections come back within seconds; each attempt sends a new message.
    const deadline = performance.now() + 60_000;
    while (!afterwards.ids.some(shown) && performance.now() < deadline) {
      await sendBothWays(await newConversation(), afterwards);
      await sleep(SEND_EVERY_MS);
    }
    expect(afterwards.refused).toEqual([]);
    expect(afterwards.ids.some(shown)).toBe(true);
    const stored = await storedMessages();
    expect(sent.ids.filter((id) => !stored.has(id))).toEqual([]);
  });
});

/** All message ids in the event log. */
async function storedMessages(): Promise<Set<string>> {
  interface Replayed {
    seq: number;
    event: string;
    payload: { message?: MessageData };
  }
  const ids = new Set<string>();
  for (let since = 0; ;) {
    const { body } = await mobile.api('GET', `/v1/workspaces/${mobile.workspaceId}/events?since=${since}`);
    const events = (body as { data: Replayed[] }).data;
    for (const { event, payload } of events) {
      if (event === 'message.new' && payload.message !== undefined) ids.add(payload.message.id);
    }
    const last = events.at(-1);
    if (last === undefined) return ids;
    since = last.seq;
  }
}
