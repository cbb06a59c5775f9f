import { get } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { messageNew, WORKSPACE } from '../test/envelopes.js';
import { startTestGateway, type TestGateway, type TestGatewayOptions, USER } from '../test/test-gateway.js';

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

  it('lets pages of configured origins poll, and read why they are refused', async () => {
    await start({ settings: { corsOrigins: ['https://app.test'] } });
    const url = `${gateway.url}/socket.io/?EIO=4&transport=polling`;
    const poll = (origin: string, more: RequestInit = {}) =>
      fetch(url, { ...more, headers: { origin, ...(more.headers as Record<string, string>) } });
    const opened = await poll('https://app.test');
    expect([opened.status, opened.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.test']);
    // The server would keep the session for a while.
    const { sid } = JSON.parse((await opened.text()).slice(1)) as { sid: string };
    await (await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '1' })).text();
    const preflight = await poll('https://app.test', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-token,x-signature' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('x-token,x-signature');
    const evil = await poll('https://evil.test');
    expect([evil.status, evil.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    await gateway.shutDown();
    const refused = await poll('https://app.test');
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, 'https://app.test']);
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

  it('sends Strict-Transport-Security on every answer, also on refusals and upgrades, if it is told to', async () => {
    await start({ settings: { hstsMaxAgeS: 600 } });
    const header = (path: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const request = get(`${gateway.url}${path}`, (response) =>
          resolve(response.resume().headers['strict-transport-security']),
        );
        request.on('error', reject);
      });
    const upgrade = new Promise<unknown>((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
      };
      get(`${gateway.url}/socket.io/?EIO=4&transport=websocket`, { headers })
        .on('upgrade', (response, socket) => {
          socket.destroy();
          resolve(response.headers['strict-transport-security']);
        })
        .on('error', reject);
    });
    expect({
      polling: await header('/socket.io/?EIO=4&transport=polling'),
      refused: await header('/socket.io/?EIO=4&transport=pigeon'),
      unknownPath: await header('/elsewhere'),
      upgrade: await upgrade,
    }).toEqual({
      polling: 'max-age=600',
      refused: 'max-age=600',
      unknownPath: 'max-age=600',
      upgrade: 'max-age=600',
    });
  });

  it('sends no Strict-Transport-Security by default', async () => {
    await start();
    const response = await fetch(`${gateway.url}/socket.io/?EIO=4&transport=pigeon`);
    expect(response.headers.get('strict-transport-security')).toBeNull();
  });

  it('leaves other paths to the owner of the server', async () => {
    await start();
    expect(await status(`${gateway.url}/v1/health`)).toBe(404);
  });

  describe('when a session ends', () => {
    const PHONE = 'a'.repeat(64);
    const TABLET = 'b'.repeat(64);
    /** Who comes with the token `phone` has the hash of the phone, and so on. */
    const hashes: Record<string, string> = { phone: PHONE, tablet: TABLET };
    const startWithHashes = () =>
      start({
        orchestrator: {
          authenticate: async (credentials) => ({
            user_id: USER,
            expires_at: null,
            token_hash: hashes[credentials['x-token'] ?? ''] ?? null,
          }),
        },
      });
    const as = (token: string) => gateway.connect({ auth: { 'x-token': token } });

    it('closes its sockets, and leaves those of another one alone', async () => {
      await startWithHashes();
      const [phone, tablet] = [await as('phone'), await as('tablet')];
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: PHONE });
      expect(await phone.disconnected).toBe('io server disconnect');
      expect(await tablet.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
    });

    it('closes every socket of the user where no credential is named', async () => {
      await startWithHashes();
      const clients = [await as('phone'), await as('tablet'), await as('bypass')];
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: null });
      expect(await Promise.all(clients.map(({ disconnected }) => disconnected))).toEqual(
        Array(3).fill('io server disconnect'),
      );
    });

    it('closes its sockets a little later where the bus lost the word', async () => {
      await start({
        settings: { sessionCheckMs: 10 },
        orchestrator: { endedSessions: async (sessions) => ({ ended: sessions.map((_session, place) => place) }) },
      });
      expect(await (await as('phone')).disconnected).toBe('io server disconnect');
    });

    it('refuses a socket whose user was looked up before', async () => {
      const asked = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      await start({
        orchestrator: {
          async authenticate() {
            asked.resolve();
            await ended.promise;
            return { user_id: USER, expires_at: null, token_hash: PHONE };
          },
        },
      });
      const connecting = as('phone');
      await asked.promise;
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: PHONE });
      ended.resolve();
      expect(await (await connecting).disconnected).toBe('io server disconnect');
    });
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
