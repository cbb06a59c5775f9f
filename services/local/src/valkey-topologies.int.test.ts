import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Conversation, MessageData } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  startValkeyCluster,
  startValkeySentinels,
  type ValkeyCluster,
  valkeyCommand,
  type ValkeySentinels,
} from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const USERS = 6;
const SEND_EVERY_MS = 100;
/** Messages are stored without replies. Rate limits count in Valkey, and allow all sends. */
const SETTINGS = {
  TURN_WORKERS: '0',
  RUNTIME_WORKERS: '0',
  ...Object.fromEntries(
    ['IP', 'USER', 'SENDS'].flatMap((name) => [
      [`RATE_${name}_PER_S`, '1000'],
      [`RATE_${name}_BURST`, '1000'],
    ]),
  ),
};

describeWith('valkey', 'clients of an installation with several Valkey servers', () => {
  let directory: string;
  let services: SeparateServices;
  let users: TestClient[];
  let sent: Map<TestClient, string[]>;
  let stopSending: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'uswarm-valkeys-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  async function startUsers(): Promise<void> {
    users = [];
    sent = new Map();
    for (let index = 0; index < USERS; index += 1) {
      const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
      const user = await startTestClient({ ...services, token });
      users.push(user);
      sent.set(user, []);
    }
    let stopped = false;
    const sending = Promise.all(
      users.map(async (user) => {
        while (!stopped) {
          sent.get(user)?.push(await send(user));
          await sleep(SEND_EVERY_MS);
        }
      }),
    );
    stopSending = async () => {
      stopped = true;
      await sending;
    };
  }

  /** In a new conversation, because each accepts a limited number of unanswered messages. @returns the message's id */
  async function send(user: TestClient): Promise<string> {
    const conversations = `/v1/workspaces/${user.workspaceId}/conversations`;
    const { body } = await user.api('POST', conversations, { type: 'swarm' });
    const { id } = (body as { data: Conversation }).data;
    const draft = { local_id: randomUUID(), content: { type: 'text', text: 'hello' } };
    const answer = await user.api('POST', `${conversations}/${id}/messages`, draft);
    expect(answer.status).toBe(201);
    return (answer.body as { data: MessageData }).data.id;
  }

  /** Every user sees a message that is sent from now on. Events come in order, so nothing before it is missing. */
  async function everyoneIsLive(): Promise<void> {
    for (const user of users) {
      const id = await send(user);
      await user.saw('message.new', ({ message }: { message: MessageData }) => message.id === id);
    }
  }

  const seqsOf = ({ events }: TestClient): number[] =>
    events.flatMap(({ payload }) => (typeof payload['seq'] === 'number' ? [payload['seq']] : []));

  async function nobodyMissesAnything(): Promise<void> {
    await stopSending?.();
    await everyoneIsLive();
    for (const user of users) {
      const seqs = seqsOf(user);
      expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
      const seen = new Set(
        user.events.flatMap(({ name, payload }) =>
          name === 'message.new' ? [(payload['message'] as MessageData).id] : [],
        ),
      );
      expect(sent.get(user)?.filter((id) => !seen.has(id))).toEqual([]);
      expect(user.events.filter(({ name }) => name === 'workspace.resync')).toEqual([]);
    }
  }
  afterEach(async () => {
    await stopSending?.().catch(() => undefined);
    for (const user of users) user.close();
  });

  describe('on a cluster', () => {
    let cluster: ValkeyCluster;
    beforeAll(async () => {
      cluster = await startValkeyCluster({ directory: join(directory, 'cluster') });
      services = await startSeparateServices(SETTINGS, { redis: cluster.url });
    }, 60_000);
    afterAll(async () => {
      await services?.close();
      await cluster?.close();
    });
    beforeEach(startUsers);

    const slotOf = (user: TestClient): Promise<number> =>
      valkeyCommand<number>(cluster.nodes[0]!.port, 'CLUSTER', 'KEYSLOT', `ws:${user.workspaceId}`);

    it('miss nothing while their workspaces’ slots move', async () => {
      for (const user of users) {
        const slot = await slotOf(user);
        const owner = await cluster.primaryOf(slot);
        await cluster.moveSlot(
          slot,
          cluster.nodes.slice(0, 3).find((node) => node !== owner)!,
        );
      }
      await nobodyMissesAnything();
      expect(users).toHaveLength(USERS);
    }, 60_000);

    it('miss nothing when a primary is killed', async () => {
      const killed = await cluster.failOver(await slotOf(users[0]!));
      await nobodyMissesAnything();
      await killed.restart();
      expect(users).toHaveLength(USERS);
    }, 60_000);
  });

  describe('with sentinels', () => {
    let valkey: ValkeySentinels;
    beforeAll(async () => {
      valkey = await startValkeySentinels({ directory: join(directory, 'sentinels') });
      services = await startSeparateServices(SETTINGS, { redis: valkey.url });
    }, 60_000);
    afterAll(async () => {
      await services?.close();
      await valkey?.close();
    });
    beforeEach(startUsers);

    it('miss nothing when the primary is killed', async () => {
      await valkey.failOver();
      await nobodyMissesAnything();
      expect(users).toHaveLength(USERS);
    }, 60_000);
  });
});
