import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

describeWith('valkey', 'sessions, over orchestrator and gateway as separate processes', () => {
  let services: SeparateServices;
  const clients: TestClient[] = [];
  beforeAll(async () => {
    services = await startSeparateServices({ RUNTIME_WORKERS: '0', TURN_WORKERS: '0' });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(() => services?.close());

  const tokenOf = (email: string) => services.issuer.issueToken({ email, name: 'Ada', claims: { jti: randomUUID() } });
  async function connect(token: string, device: Record<string, string> = {}): Promise<TestClient> {
    const credentials = () => ({ 'x-token': token, ...device });
    const client = await startTestClient({ ...services, token, credentials, socketOptions: { reconnection: false } });
    clients.push(client);
    return client;
  }
  const closed = async ({ socket }: TestClient): Promise<unknown> => (await once(socket as never, 'disconnect'))[0];

  it('closes and rejects the sockets of a token after its logout, but no others', async () => {
    const email = `${randomUUID()}@example.com`;
    const token = await tokenOf(email);
    const [phone, sameToken, tablet, other] = [
      await connect(token),
      await connect(token),
      await connect(await tokenOf(email)),
      await connect(await tokenOf(`${randomUUID()}@example.com`)),
    ];
    const reasons = Promise.all([closed(phone), closed(sameToken)]);
    expect((await phone.api('POST', '/v1/auth/logout')).status).toBe(204);
    expect(await reasons).toEqual(['io server disconnect', 'io server disconnect']);

    const refused = once(phone.socket as never, 'connect_error');
    phone.socket.connect();
    expect((await refused)[0]).toMatchObject({ data: { code: 'token_revoked' } });
    // Their messages still arrive, so they are not about to be closed.
    await Promise.all([tablet.send('still here'), other.send('so am I')]);
    expect({ tablet: tablet.socket.connected, other: other.socket.connected }).toEqual({ tablet: true, other: true });
  });

  it('closes all sockets of a user who signs out everywhere, and rejects all their tokens', async () => {
    const email = `${randomUUID()}@example.com`;
    const [phone, tablet, other] = [
      await connect(await tokenOf(email)),
      await connect(await tokenOf(email)),
      await connect(await tokenOf(`${randomUUID()}@example.com`)),
    ];
    const reasons = Promise.all([closed(phone), closed(tablet)]);
    expect((await phone.api('POST', '/v1/auth/logout-all')).status).toBe(204);
    expect(await reasons).toEqual(['io server disconnect', 'io server disconnect']);
    for (const { socket } of [phone, tablet]) {
      const refused = once(socket as never, 'connect_error');
      socket.connect();
      expect((await refused)[0]).toMatchObject({ data: { code: 'token_revoked' } });
    }
    await other.send('still here');
    expect(other.socket.connected).toBe(true);
  });

  it('closes all sockets of a deleted account', async () => {
    const email = `${randomUUID()}@example.com`;
    const [phone, tablet] = [await connect(await tokenOf(email)), await connect(await tokenOf(email))];
    const reasons = Promise.all([closed(phone), closed(tablet)]);
    expect((await phone.api('DELETE', '/v1/auth/delete')).status).toBe(204);
    expect(await reasons).toEqual(['io server disconnect', 'io server disconnect']);
  });

  it('AUTH-008 VER-003 reads the device from the headers of a socket, as from those of a request', async () => {
    const device = {
      'x-device-id': `phone ${randomUUID()}`,
      'x-device-info': 'iPhone 17; iOS 26.1',
      'x-version': '2.14.0',
      'x-timezone': 'Europe/Berlin',
    };
    const email = `${randomUUID()}@example.com`;
    const token = await tokenOf(email);
    // Sign-up has no such headers, so they come only from the handshake.
    (await connect(token)).close();
    const { socket } = await connect(token);
    socket.disconnect();
    socket.auth = { 'x-token': token, ...device };
    const connected = once(socket as never, 'connect');
    socket.connect();
    await connected;
    const recorded = async () =>
      services.query<{ info: string; app_version: string; timezone: string }>(
        'SELECT info, app_version, timezone FROM devices WHERE device_id = $1',
        [device['x-device-id']],
      );
    const deadline = Date.now() + 20_000;
    while ((await recorded()).length === 0 && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(await recorded()).toEqual([
      { info: 'iPhone 17; iOS 26.1', app_version: '2.14.0', timezone: 'Europe/Berlin' },
    ]);
  });
});
