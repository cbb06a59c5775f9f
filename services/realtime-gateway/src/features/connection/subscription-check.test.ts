import { afterEach, describe, expect, it } from '@jest/globals';
import { messageNew, WORKSPACE } from '../../../test/envelopes.js';
import { auth, closeSessionGateways, startSessionGateways } from '../../../test/session-gateways.js';

afterEach(closeSessionGateways);

const OTHER_WORKSPACE = '01890000-0000-7000-8000-0000000000b9';

describe('a subscribe while the orchestrator cannot be asked', () => {
  it('succeeds for workspaces that the resume token names and another socket uses, and only for them', async () => {
    const { gateway, state } = await startSessionGateways();
    const [early, resuming] = [await gateway.connect(auth('phone')), await gateway.connect(auth('phone'))];
    for (const client of [early, resuming]) {
      await client.next('session.ready');
      await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    }
    // The token with the workspaces.
    const { resume_token: token } = await resuming.next('session.ready');
    state.fault = 'service_unavailable';
    resuming.socket.disconnect();

    const back = await gateway.connect(auth('phone', token));
    const asked = { workspace_ids: [WORKSPACE, OTHER_WORKSPACE] };
    expect(await back.ask('workspace.subscribe', asked)).toMatchObject({
      ok: true,
      workspace_ids: [WORKSPACE],
      rejected: [{ workspace_id: OTHER_WORKSPACE, code: 'service_unavailable' }],
    });
    await gateway.publish(messageNew(1));
    expect(await back.next('message.new')).toMatchObject({ seq: 1 });
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
