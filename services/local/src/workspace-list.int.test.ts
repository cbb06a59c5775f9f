import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { MessageData, Workspace } from '@uswarm/contract';
import { describeWith } from '@uswarm/testkit';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { type RealtimeCluster, startRealtimeCluster } from '../test/realtime/cluster.js';

describeWith('valkey', 'two devices of a user at two gateways and two orchestrators', () => {
  let cluster: RealtimeCluster;
  const devices: TestClient[] = [];
  beforeAll(async () => {
    cluster = await startRealtimeCluster(Math.random);
  });
  afterAll(async () => {
    for (const device of devices) device.close();
    await cluster?.close();
  });

  /** A device at the gateway and the orchestrator of this number. */
  async function connect(token: string, number: number): Promise<TestClient> {
    const [restUrl, socketUrl] = [cluster.restUrls[number]!, cluster.socketUrls[number]!];
    const device = await startTestClient({ restUrl, socketUrl, token });
    devices.push(device);
    return device;
  }
  const listedBy = async ({ api }: TestClient): Promise<string[]> => {
    const { body } = await api('GET', '/v1/workspaces');
    return (body as { data: Workspace[] }).data.map(({ id }) => id);
  };

  it('see each workspace that the other one creates or deletes, without a subscription', async () => {
    const token = await cluster.newToken();
    const [phone, tablet] = [await connect(token, 0), await connect(token, 1)];
    const otherUser = await connect(await cluster.newToken(), 1);

    const created = await phone.api('POST', '/v1/workspaces', { name: 'Another' });
    const { id } = (created.body as { data: Workspace }).data;
    const isIt = ({ workspace }: { workspace: Workspace }): boolean => workspace.id === id;
    for (const device of [phone, tablet]) {
      const { payload } = await device.saw('workspace.new', isIt);
      expect(payload['workspace']).toMatchObject({ id, name: 'Another' });
      expect(await listedBy(device)).toEqual(expect.arrayContaining([id, phone.workspaceId]));
    }

    // The tablet subscribes to it with what the event contains.
    tablet.socket.emit('workspace.subscribe', { workspace_ids: [id] });
    await tablet.saw('workspace.subscribed', ({ workspace_ids: ids }: { workspace_ids: string[] }) => ids.includes(id));
    const conversations = `/v1/workspaces/${id}/conversations`;
    const conversation = await phone.api('POST', conversations, { type: 'swarm' });
    const conversationId = (conversation.body as { data: { id: string } }).data.id;
    const content = { type: 'text', text: 'Hello' };
    await phone.api('POST', `${conversations}/${conversationId}/messages`, { content });
    const isHello = ({ message }: { message: MessageData }): boolean => message.conversation_id === conversationId;
    await tablet.saw('message.new', isHello);

    // The phone has no subscription: only the user's event tells it the end.
    expect((await tablet.api('DELETE', `/v1/workspaces/${id}`)).status).toBe(204);
    for (const device of [phone, tablet]) {
      await device.saw('workspace.deleted', ({ workspace_id }: { workspace_id: string }) => workspace_id === id);
      expect(await listedBy(device)).toEqual([phone.workspaceId]);
    }
    expect(JSON.stringify(otherUser.events)).not.toContain(id);
  });
});
