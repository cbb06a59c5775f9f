import { get } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type BusEnvelope, LIMITS } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { io } from 'socket.io-client';
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
  it.each([['websocket'], ['polling']] as const)('serves clients that use %s', async (transport) => {
    await start();
    const client = await gateway.connect({ transports: [transport] });
    await client.ask('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    await gateway.publish(messageNew(1));
    expect(await client.next('message.new')).toMatchObject({ seq: 1 });
    expect(client.socket.io.engine.transport.name).toBe(transport);
  });

  it('delivers envelopes, events and messages with fields of later releases', async () => {
    await start();
    // Not the test client, which rejects what the contract of this release does not have.
    const client = io(`${gateway.url}/v1`, { auth: { 'x-token': 't' }, forceNew: true, reconnection: false });
    const received: unknown[][] = [];
    const published = new Set(['message.new', 'later.event']);
    client.onAny((...event: unknown[]) => published.has(String(event[0])) && received.push(event));
    await client.emitWithAck('workspace.subscribe', { workspace_ids: [WORKSPACE] });
    const [first, second, third] = [messageNew(1), messageNew(2), messageNew(3)];
    const message = { ...(third.payload as { message: object }).message, later: { field: [1] } };
    const later = { ...third.payload, message };
    await gateway.publish(
      Object.assign(first, { later_field: 1 }),
      { ...second, event: 'later.event', payload: { any: 'payload' } } as BusEnvelope,
      { ...third, payload: later } as BusEnvelope,
    );
    await eventually(() => received.length, { until: (count) => count === 3 });
    client.close();
    expect(received).toEqual([
      ['message.new', first.payload],
      ['later.event', { any: 'payload' }],
      ['message.new', later],
    ]);
  });

  it('delivers all events while a client upgrades from polling to WebSocket', async () => {
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

  it('allows polling from configured origins and lets those pages read refusals', async () => {
    await start({ settings: { corsOrigins: ['https://app.test'] } });
    const url = `${gateway.url}/socket.io/?EIO=4&transport=polling`;
    const poll = (origin: string, more: RequestInit = {}) =>
      fetch(url, { ...more, headers: { origin, ...(more.headers as Record<string, string>) } });
    const opened = await poll('https://app.test');
    const summary = ({ status: code, headers }: Response) => ({
      status: code,
      allowOrigin: headers.get('access-control-allow-origin'),
    });
    expect(summary(opened)).toEqual({ status: 200, allowOrigin: 'https://app.test' });
    // Closes the session, which the server would otherwise keep for a while.
    const { sid } = JSON.parse((await opened.text()).slice(1)) as { sid: string };
    await (await fetch(`${url}&sid=${sid}`, { method: 'POST', body: '1' })).text();
    const preflight = await poll('https://app.test', {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-token,x-signature' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('x-token,x-signature');
    const evil = await poll('https://evil.test');
    expect(summary(evil)).toEqual({ status: 403, allowOrigin: null });
    await gateway.shutDown();
    const refused = await poll('https://app.test');
    expect(summary(refused)).toEqual({ status: 403, allowOrigin: 'https://app.test' });
  });

  it('serves only the configured transports', async () => {
    await start({ settings: { transports: ['websocket'] } });
    await gateway.refusal({ transports: ['polling'] });
    const client = await gateway.connect();
    expect(client.socket.connected).toBe(true);
  });

  it('does not compress messages and does not serve a client library', async () => {
    await start();
    const client = await gateway.connect({ perMessageDeflate: { threshold: 1 } });
    const { ws } = client.socket.io.engine.transport as unknown as { ws: { extensions: string } };
    expect(ws.extensions).toBe('');
    expect(await status(`${gateway.url}/socket.io/socket.io.js`)).toBe(400);
  });

  it.each([
    ['websocket', LIMITS.bodyBytes],
    ['polling', LIMITS.bodyBytes],
    ['websocket', 1_500_000],
    ['polling', 1_500_000],
    ['websocket', LIMITS.packetBytes - 1_000],
  ])('refuses a payload above the size limit with payload_too_large over %s, of %i bytes', async (name, length) => {
    await start();
    const client = await gateway.connect({ transports: [name] });
    const payload = { local_id: 'l', text: 'x'.repeat(length) };
    expect(await client.ask('message.send', payload)).toMatchObject({
      code: 'payload_too_large',
      message: 'The payload is larger than 262144 bytes.',
    });
    expect(await client.next('message.send.error')).toMatchObject({
      local_id: 'l',
      code: 'payload_too_large',
      retryable: false,
      stored: 'no',
    });
    expect(await client.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
  });

  it('closes a connection that sends a large packet before it is authenticated', async () => {
    await start();
    const auth = { padding: 'x'.repeat(LIMITS.unauthenticatedPacketBytes) };
    const socket = io(`${gateway.url}/v1`, { transports: ['websocket'], forceNew: true, reconnection: false, auth });
    const closed = new Promise((resolve) =>
      socket.io.once('close', (_reason, details) => resolve((details as { context?: unknown }).context)),
    );
    expect(await closed).toMatchObject({ code: 1009 });
  });

  it('closes the connection of a client that sends a larger packet, with the code of WebSocket, and serves other clients', async () => {
    await start();
    const [greedy, other] = [await gateway.connect(), await gateway.connect()];
    const closed = new Promise((resolve) =>
      greedy.socket.once('disconnect', (_reason, details) => resolve((details as { context?: unknown }).context)),
    );
    greedy.socket.emit('message.send', { text: 'x'.repeat(LIMITS.packetBytes) });
    expect(await closed).toMatchObject({ code: 1009 });
    expect(await other.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
  });

  it('closes the connection of a polling client that sends a larger packet, with status 413', async () => {
    await start();
    const greedy = await gateway.connect({ transports: ['polling'] });
    const closed = new Promise((resolve) =>
      greedy.socket.once('disconnect', (_reason, details) => resolve((details as { context?: unknown }).context)),
    );
    greedy.socket.emit('message.send', { text: 'x'.repeat(LIMITS.packetBytes) });
    expect(await closed).toMatchObject({ status: 413 });
  });

  it('answers an unknown event with validation_failed', async () => {
    await start();
    const client = await gateway.connect();
    expect(await client.ask('message.destroy', {})).toMatchObject({ code: 'validation_failed' });
  });

  it('sends Strict-Transport-Security with every response if configured, including refusals and upgrades', async () => {
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

  it('leaves other paths to the handlers of the caller', async () => {
    await start();
    expect(await status(`${gateway.url}/v1/health`)).toBe(404);
  });

  describe('the gateway on a session revocation', () => {
    const PHONE = 'a'.repeat(64);
    const TABLET = 'b'.repeat(64);
    /** Token → credential hash. */
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
    const connectWith = (token: string) => gateway.connect({ auth: { 'x-token': token } });

    it('closes the sockets of the revoked session only', async () => {
      await startWithHashes();
      const [phone, tablet] = [await connectWith('phone'), await connectWith('tablet')];
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: PHONE });
      expect(await phone.disconnected).toBe('io server disconnect');
      expect(await tablet.ask('workspace.unsubscribe', { workspace_ids: [] })).toMatchObject({ ok: true });
    });

    it('closes all sockets of the user if the revocation names no credential', async () => {
      await startWithHashes();
      const clients = [await connectWith('phone'), await connectWith('tablet'), await connectWith('bypass')];
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: null });
      expect(await Promise.all(clients.map(({ disconnected }) => disconnected))).toEqual(
        Array(3).fill('io server disconnect'),
      );
    });

    it('closes the sockets at the next session check if the bus lost the revocation', async () => {
      await start({
        settings: { sessionCheckMs: 10 },
        orchestrator: { endedSessions: async (sessions) => ({ ended: sessions.map((_session, index) => index) }) },
      });
      expect(await (await connectWith('phone')).disconnected).toBe('io server disconnect');
    });

    it('closes a socket whose session is revoked during its handshake', async () => {
      const requested = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      await start({
        orchestrator: {
          async authenticate() {
            requested.resolve();
            await ended.promise;
            return { user_id: USER, expires_at: null, token_hash: PHONE };
          },
        },
      });
      const connecting = connectWith('phone');
      await requested.promise;
      await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: PHONE });
      ended.resolve();
      expect(await (await connecting).disconnected).toBe('io server disconnect');
    });
  });

  it('closes the transport of each client on shutdown, so that clients reconnect, and refuses new ones', async () => {
    await start({ settings: { shutdownWindowMs: 20 } });
    const clients = [await gateway.connect(), await gateway.connect()];
    const reasons = clients.map(({ disconnected }) => disconnected);
    await gateway.shutDown();
    expect(await Promise.all(reasons)).toEqual(['transport close', 'transport close']);
    await gateway.refusal();
    // The caller owns the server, which still listens.
    expect(await status(`${gateway.url}/v1/health`)).toBe(404);
  });
});
