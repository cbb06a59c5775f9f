import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { silentLogger } from '@uswarm/service-kit';
import { describeWith } from '@uswarm/testkit';
import type { TestClient } from '../test/test-client.js';
import { startTestGateway, type TestGateway } from '../test/test-gateway.js';

const url = process.env['TEST_REDIS_URL'] ?? '';
const PHONE = 'a'.repeat(64);

describeWith('valkey', 'gateways that share a Redis', () => {
  let userId: string;
  let gateways: TestGateway[];
  let orchestrator: EventBus;
  beforeEach(async () => {
    userId = crypto.randomUUID();
    orchestrator = createRedisBus({ url, logger: silentLogger });
    const start = () =>
      startTestGateway({
        bus: createRedisBus({ url, logger: silentLogger }),
        settings: { socketsPerUser: 3, sessionCheckMs: 600_000 },
        orchestrator: {
          authenticate: async (credentials) => ({
            user_id: credentials['x-token'] === 'other' ? crypto.randomUUID() : userId,
            expires_at: null,
            token_hash: PHONE,
          }),
        },
      });
    gateways = [await start(), await start()];
    for (const gateway of gateways) while (!gateway.bus.healthy()) await sleep(5);
  });
  afterEach(async () => {
    await Promise.all(gateways.map((gateway) => gateway.close()));
    await orchestrator.close();
  });
  const connect = (gateway: number, token = 'mine'): Promise<TestClient> =>
    gateways[gateway]!.connect({ auth: { 'x-token': token } });
  const served = async (client: TestClient) => await client.ask('workspace.unsubscribe', { workspace_ids: [] });

  it('close the oldest socket above the limit on any gateway', async () => {
    const other = await connect(0, 'other');
    const oldest = await connect(0);
    await sleep(2);
    const second = await connect(1);
    const third = await connect(1);
    const fourth = await connect(1);
    expect(await oldest.next('session.ending')).toEqual({ code: 'too_many_sockets', reconnect: false });
    expect(await oldest.disconnected).toBe('io server disconnect');
    for (const client of [other, second, third, fourth]) expect(await served(client)).toMatchObject({ ok: true });
  });

  it('close the sockets of a revoked session with its code', async () => {
    const [here, there, other] = [await connect(0), await connect(1), await connect(1, 'other')];
    expect(await orchestrator.publishSessionEnd({ v: 1, user_id: userId, token_hash: PHONE, code: 'logged_out' })).toBe(
      true,
    );
    for (const client of [here, there]) {
      expect(await client.next('session.ending')).toEqual({ code: 'logged_out', reconnect: false });
      expect(await client.disconnected).toBe('io server disconnect');
    }
    expect(await served(other)).toMatchObject({ ok: true });
  });

  it('emit the events of a user to all sockets of the user, and to no other', async () => {
    const [here, there, other] = [await connect(0), await connect(1), await connect(1, 'other')];
    const workspace_id = crypto.randomUUID();
    const deleted = { v: 1, event: 'workspace.deleted', payload: { workspace_id } } as const;
    orchestrator.publishUserEvent({ ...deleted, user_id: userId });
    for (const client of [here, there]) expect(await client.next('workspace.deleted')).toEqual({ workspace_id });
    expect(await served(other)).toMatchObject({ ok: true });
    expect(other.names()).toEqual([]);
  });
});
