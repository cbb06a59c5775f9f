import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient } from '@uswarm/testkit/test-client';
import { io, type Socket } from 'socket.io-client';
import { type FurtherGateway, startFurtherGateway } from '../test/further-gateway.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const LATE_CLOCK = pathToFileURL(join(import.meta.dirname, '../test/late-clock.mjs')).href;
const clockOf = (offsetMs: number): Record<string, string> => ({
  NODE_OPTIONS: `--import ${LATE_CLOCK}`,
  CLOCK_OFFSET_MS: String(offsetMs),
});
/** Longer than a client waits between its first attempts, and than the gateway retries a handshake. */
const WATCHED_MS = 12_000;

describeWith('valkey', 'a gateway whose service tokens the orchestrator refuses', () => {
  let services: SeparateServices;
  let token: string;
  beforeAll(async () => {
    services = await startSeparateServices({ TURN_WORKERS: '0', RUNTIME_WORKERS: '0' });
    token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    (await startTestClient({ ...services, token })).close();
  });
  afterAll(() => services?.close());

  let gateway: FurtherGateway | undefined;
  const clients: Socket[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await gateway?.program.stop('SIGKILL');
  });

  /** A client with default options. `refusals` are the errors after which it does not reconnect. */
  function startClient(port: number, auth: Record<string, string>) {
    const refusals: string[] = [];
    const client = io(`http://127.0.0.1:${port}/v1`, { forceNew: true, auth });
    client.on('connect_error', (error) => client.active || refusals.push(error.message));
    clients.push(client);
    return { client, refusals };
  }

  async function resumeToken(): Promise<string> {
    const client = io(`${services.socketUrl}/v1`, { forceNew: true, auth: { 'x-token': token } });
    const ready = await new Promise<{ resume_token: string }>((resolve) => client.once('session.ready', resolve));
    client.disconnect();
    return ready.resume_token;
  }

  it.each([
    ['has another key', 'invalid', { INTERNAL_API_KEY: `test:${randomBytes(32).toString('hex')}` }],
    ['has a key with an unknown id', 'invalid', { INTERNAL_API_KEY: `other:${randomBytes(32).toString('hex')}` }],
    ['has a clock that is two minutes behind', 'expired', clockOf(-120_000)],
  ])('refuses no user for good, is not ready and names the cause if it %s', async (_what, reason, env) => {
    const wrong = await startFurtherGateway(services, env);
    gateway = wrong;
    const { port } = wrong;
    expect(await wrong.readiness()).toBe(503);
    expect(await wrong.metrics()).toMatch(
      new RegExp(`uswarm_service_token_refused\\{[^}]*reason="${reason}"[^}]*\\} 1`),
    );
    expect(wrong.program.output()).toContain(reason === 'expired' ? 'clock is behind' : 'INTERNAL_API_KEY');
    const signedIn = startClient(port, { 'x-token': token });
    const resuming = startClient(port, { resume_token: await resumeToken() });
    await sleep(WATCHED_MS);
    expect([signedIn.refusals, resuming.refusals]).toEqual([[], []]);
    expect(signedIn.client.connected).toBe(false);

    await wrong.program.stop('SIGKILL');
    gateway = await startFurtherGateway(services, { port });
    expect(await gateway.readiness()).toBe(200);
    await eventually(() => signedIn.client.connected && resuming.client.connected, { timeoutMs: 60_000 });
  });

  it('serves users if its clock is 70 seconds behind', async () => {
    gateway = await startFurtherGateway(services, clockOf(-70_000));
    expect(await gateway.readiness()).toBe(200);
    const { client } = startClient(gateway.port, { 'x-token': token });
    await eventually(() => client.connected);
  });

  it('is ready, and refuses no user, if the internal API is another server', async () => {
    gateway = await startFurtherGateway(services, { INTERNAL_API_URL: services.restUrl });
    expect(await gateway.readiness()).toBe(200);
    const { refusals } = startClient(gateway.port, { 'x-token': token });
    await sleep(WATCHED_MS);
    expect(refusals).toEqual([]);
  });
});
