import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type KeyIssuer, type KeyIssuerAlgorithm, startKeyIssuer, tokenVariants } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const ALGORITHMS: KeyIssuerAlgorithm[] = ['RS256', 'ES256'];

describeWith('valkey', 'variants of a token at the sockets of a separate gateway', () => {
  let services: SeparateServices;
  let issuers: Record<KeyIssuerAlgorithm, KeyIssuer>;
  const clients: TestClient[] = [];
  beforeAll(async () => {
    issuers = { RS256: await startKeyIssuer('RS256'), ES256: await startKeyIssuer('ES256') };
    const known = Object.entries(issuers).map(([id, { issuer }]) => ({ id, issuer, audience: 'app' }));
    services = await startSeparateServices({
      RUNTIME_WORKERS: '0',
      TURN_WORKERS: '0',
      OIDC_ISSUERS: JSON.stringify(known),
    });
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });
  afterAll(async () => {
    await services?.close();
    await Promise.all(Object.values(issuers ?? {}).map((issuer) => issuer.close()));
  });

  async function connect(token: string): Promise<TestClient> {
    const credentials = () => ({ 'x-token': token });
    const client = await startTestClient({ ...services, token, credentials, socketOptions: { reconnection: false } });
    clients.push(client);
    return client;
  }

  it.each(ALGORITHMS)('are all logged out together, with their sockets: %s', async (algorithm) => {
    const token = await issuers[algorithm].issueToken({ claims: { aud: 'app', sub: randomUUID() } });
    const variants = tokenVariants(token, algorithm);
    const open = [await connect(token)];
    // The handshake rejects the other variants before the logout, too.
    if (variants['negated'] !== undefined) open.push(await connect(variants['negated']));
    const reasons = Promise.all(open.map(async ({ socket }) => (await once(socket as never, 'disconnect'))[0]));
    expect((await open[0]?.api('POST', '/v1/auth/logout'))?.status).toBe(204);
    expect(await reasons).toEqual(open.map(() => 'io server disconnect'));

    const { socket } = open[0] as TestClient;
    for (const text of [token, ...Object.values(variants)]) {
      socket.auth = { 'x-token': text };
      const refused = once(socket as never, 'connect_error');
      socket.connect();
      const code = text === variants['respelled'] || text === variants['blank'] ? 'token_invalid' : 'token_revoked';
      expect((await refused)[0]).toMatchObject({ data: { code } });
    }
  });
});
