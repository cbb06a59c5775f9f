import { get } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { messageNew, WORKSPACE } from '../test/envelopes.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../test/test-gateway.js';

let gateway: TestGateway;
afterEach(() => gateway.close());

const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const status = (url: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get(url, (response) => resolve(response.resume().statusCode)).on('error', reject);
  });

describe('the gateway', () => {
  it.each([['websocket'], ['polling']] as const)('serves clients by %s', async (transport) => {
    await start();
    const client = await gateway.connect({ transports: [transport] });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    await gateway.publish(messageNew(1));
    expect(await client.next('message.new')).toMatchObject({ seq: 1 });
    expect(client.socket.io.engine.transport.name).toBe(transport);
  });

  it('lets a client change from polling to websocket and loses nothing', async () => {
    await start();
    const client = await gateway.connect({ transports: ['polling', 'websocket'] });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    await gateway.publish(messageNew(1));
    const { engine } = client.socket.io;
    if (engine.transport.name !== 'websocket')
      await new Promise<void>((resolve) => engine.once('upgrade', () => resolve()));
    await gateway.publish(messageNew(2));
    await client.next('message.new');
    expect(await client.next('message.new')).toMatchObject({ seq: 2 });
  });

  it('serves only the transports of its settings', async () => {
    await start({ settings: { transports: ['websocket'] } });
    await gateway.refusal({ transports: ['polling'] });
    const client = await gateway.connect();
    expect(client.socket.connected).toBe(true);
  });

  it('neither compresses nor serves a client library', async () => {
    await start();
    const client = await gateway.connect({ perMessageDeflate: { threshold: 1 } });
    const { ws } = client.socket.io.engine.transport as unknown as { ws: { extensions: string } };
    expect(ws.extensions).toBe('');
    expect(await status(`${gateway.url}/socket.io/socket.io.js`)).toBe(400);
  });

  it('closes the connection of a client that sends more than allowed, and serves the others', async () => {
    await start();
    const [greedy, other] = [await gateway.connect(), await gateway.connect()];
    greedy.socket.emit('message.send', { text: 'x'.repeat(300 * 1024) });
    await greedy.disconnected;
    expect(await other.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
  });

  it('answers an event that it does not know', async () => {
    await start();
    const client = await gateway.connect();
    expect(await client.ask('message.destroy', {})).toMatchObject({ code: 'validation_failed' });
  });

  it('leaves other paths to whoever owns the server', async () => {
    await start();
    expect(await status(`${gateway.url}/v1/health`)).toBe(404);
  });

  it('sends its clients away when it closes, so that they come back by themselves, and takes no new ones', async () => {
    await start({ settings: { shutdownWindowMs: 20 } });
    const clients = [await gateway.connect(), await gateway.connect()];
    const reasons = clients.map(({ disconnected }) => disconnected);
    await gateway.shutDown();
    expect(await Promise.all(reasons)).toEqual(['transport close', 'transport close']);
    await gateway.refusal();
    // The server is the caller's and still listens.
    expect(await status(`${gateway.url}/v1/health`)).toBe(404);
  });
});
