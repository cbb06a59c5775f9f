import { afterEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { agentTool, messageNew, WORKSPACE } from '../../../test/envelopes.js';
import { auth, closeSessionGateways, startSessionGateways } from '../../../test/session-gateways.js';
import type { TestClient } from '../../../test/test-client.js';
import { TEST_HUBS, type TestGatewayOptions, USER } from '../../../test/test-gateway.js';
import type { Hub } from '../hub/hub.js';
import type { Since } from '../hub/since.js';
import { type CheckedSubscriptions, createSubscriptionCheck } from './subscription-check.js';

afterEach(closeSessionGateways);

const OTHER_WORKSPACE = '01890000-0000-7000-8000-0000000000b9';

/** A subscribed socket, and one that has resumed while the orchestrator is unavailable. */
async function resumed(options: TestGatewayOptions = {}) {
  const { gateway, state } = await startSessionGateways(options);
  const [early, resuming] = [await gateway.connect(auth('phone')), await gateway.connect(auth('phone'))];
  for (const client of [early, resuming]) {
    await client.next('session.ready');
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
  }
  // The token with the workspaces.
  const { resume_token: token } = await resuming.next('session.ready');
  state.fault = 'service_unavailable';
  resuming.socket.disconnect();
  return { gateway, early, back: await gateway.connect(auth('phone', token)) };
}

const subscribe = (client: TestClient, since: number | string): Promise<unknown> =>
  client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE], since: { [WORKSPACE]: since } });

/** A client's check, by a gateway at this position, without the orchestrator. */
const checkAt = (epoch: string, position: number, since: Since | undefined): Promise<CheckedSubscriptions> =>
  createSubscriptionCheck({
    access: null,
    orchestrator: { subscriptions: () => Promise.reject(new ApiError('service_unavailable')) },
    hubs: { use: () => ({ hub: { state: { position, epoch } } as Hub, release: () => undefined }) },
    workspaces: { has: () => true, record: () => undefined },
  })(USER, [WORKSPACE], 'request', new Map(since === undefined ? [] : [[WORKSPACE, since]]));

describe('a subscribe while the orchestrator cannot be asked', () => {
  it('succeeds for workspaces that the resume token names and another socket uses, and only for them', async () => {
    const { gateway, back } = await resumed();
    const asked = { workspace_ids: [WORKSPACE, OTHER_WORKSPACE] };
    expect(await back.ask('workspace.subscribe', asked)).toMatchObject({
      ok: true,
      workspace_ids: [WORKSPACE],
      rejected: [{ workspace_id: OTHER_WORKSPACE, code: 'service_unavailable' }],
    });
    await gateway.publish(messageNew(1));
    expect(await back.next('message.new')).toMatchObject({ seq: 1 });
  });

  it('fails for a client with events that this gateway does not have yet, instead of a reload', async () => {
    const { back } = await resumed();
    expect(await subscribe(back, 5)).toMatchObject({ code: 'service_unavailable' });
    expect(await subscribe(back, 0)).toMatchObject({ ok: true });
    expect(back.names()).not.toContain('workspace.resync');
  });

  it.each([undefined, { seq: 3 }, { seq: 3, epoch: 'e1' }])(
    'succeeds for a gateway at e1:3 and a client at %j',
    async (since) => {
      expect(await checkAt('e1', 3, since)).toEqual({
        isFallback: true,
        accepted: [{ workspace_id: WORKSPACE, last_seq: 3, epoch: 'e1' }],
        rejected: [],
      });
    },
  );

  it.each([{ seq: 4 }, { seq: 3, epoch: 'e2' }])('fails for a gateway at e1:3 and a client at %j', async (since) => {
    await expect(checkAt('e1', 3, since)).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('does not hide that this gateway misses an event', async () => {
    const { gateway, early, back } = await resumed({ settings: { hubs: { ...TEST_HUBS, gapMs: 300 } } });
    gateway.log.add(messageNew(1));
    // It follows the event that the bus has lost.
    await gateway.bus.publish(agentTool(1));
    expect(await subscribe(back, 0)).toMatchObject({ ok: true });
    expect(await early.next('message.new')).toMatchObject({ seq: 1 });
  });

  it.each([
    ['of the list', [WORKSPACE], [OTHER_WORKSPACE]],
    ['of no workspace', [], [WORKSPACE, OTHER_WORKSPACE]],
  ])('asks only for the workspaces %s that limits an API token', async (_what, reached, outside) => {
    const asked: string[][] = [];
    const check = createSubscriptionCheck({
      access: { scopes: ['read'], workspace_ids: reached },
      orchestrator: {
        subscriptions: async (_user, ids) => {
          asked.push([...ids]);
          return { accepted: ids.map((id) => ({ workspace_id: id, last_seq: 3 })), rejected: [] };
        },
      },
      hubs: { use: () => ({ hub: {} as Hub, release: () => undefined }) },
      workspaces: { has: () => true, record: () => undefined },
    });
    const answer = await check(USER, [WORKSPACE, OTHER_WORKSPACE], 'request', new Map());
    expect({ asked, accepted: answer.accepted.map((each) => each.workspace_id), rejected: answer.rejected }).toEqual({
      asked: [reached],
      accepted: reached,
      rejected: outside.map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' })),
    });
  });

  it('fails for a workspace whose position this gateway does not know', async () => {
    const { gateway, startGateway, state } = await startSessionGateways();
    const client = await gateway.connect(auth('phone'));
    await client.next('session.ready');
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    // The token with the workspaces.
    const { resume_token: token } = await client.next('session.ready');
    state.fault = 'service_unavailable';
    const back = await (await startGateway()).connect(auth('phone', token));
    expect(await back.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] })).toMatchObject({
      code: 'service_unavailable',
    });
  });
});
