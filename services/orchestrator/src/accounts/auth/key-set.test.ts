import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createOutgoing, DIRECT } from '@uswarm/service-kit/outgoing';
import { exportJWK, generateKeyPair, type JWK, jwtVerify, type JWTVerifyGetKey, SignJWT } from 'jose';
import { createKeySet } from './key-set.js';
import { createLimitedFetch } from './limited-fetch.js';

interface Key {
  jwk: JWK;
  token: string;
}

async function createKey(kid: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const token = await new SignJWT({ kid }).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' }, token };
}

const fetch = createLimitedFetch(createOutgoing(DIRECT));

describe('the keys of an issuer', () => {
  let server: Server;
  let url: URL;
  let published: JWK[];
  let fetches: number;
  let away: boolean;
  let held: Promise<void> | undefined;
  let [first, second]: Key[] = [];

  beforeEach(async () => {
    [first, second] = [await createKey('first'), await createKey('second')];
    [published, fetches, away, held] = [[first.jwk], 0, false, undefined];
    server = createServer(async (_request, response) => {
      fetches += 1;
      await held;
      if (away) response.writeHead(503).end();
      else response.end(JSON.stringify({ keys: published }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`);
  });
  afterEach(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });

  const good = (keys: JWTVerifyGetKey, key: Key | undefined) =>
    jwtVerify(key?.token ?? '', keys).then(
      () => 'good',
      (error: { code?: string }) => error.code,
    );

  it('are used although the set has other entries, and fields that are null', async () => {
    published = [null, 'key', { kid: 'x' }, { ...first?.jwk, use: null, key_ops: null, x5c: null }] as unknown as JWK[];
    expect(await good(createKeySet(url, { fetch, cooldownMs: 0 }), first)).toBe('good');
  });

  it('report for each fetch whether the issuer responded', async () => {
    const results: boolean[] = [];
    const keys = createKeySet(url, {
      fetch,
      cooldownMs: 0,
      maxAgeMs: 0,
      onFetch: (answered) => results.push(answered),
    });
    await good(keys, first);
    away = true;
    await good(keys, first);
    expect({ count: results.length, first: results[0], last: results.at(-1) }).toEqual({
      count: fetches,
      first: true,
      last: false,
    });
  });

  it('are fetched once for many tokens', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 60_000 });
    expect(await Promise.all(Array.from({ length: 20 }, () => good(keys, first)))).toEqual(Array(20).fill('good'));
    expect(await good(keys, first)).toBe('good');
    expect(fetches).toBe(1);
  });

  it('are fetched for an unknown key only once per cooldown', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 60_000 });
    await good(keys, first);
    published = [first!.jwk, second!.jwk];
    for (let n = 0; n < 10; n += 1) expect(await good(keys, second)).toBe('ERR_JWKS_NO_MATCHING_KEY');
    expect(fetches).toBe(1);
  });

  it('follow a rotation after the cooldown', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 0 });
    await good(keys, first);
    published = [second!.jwk];
    expect(await good(keys, second)).toBe('good');
    expect(await good(keys, first)).toBe('ERR_JWKS_NO_MATCHING_KEY');
  });

  it('are fetched again when they are old, so that a withdrawn key becomes invalid', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 0, maxAgeMs: 0 });
    await good(keys, first);
    published = [second!.jwk];
    expect(await good(keys, first)).toBe('ERR_JWKS_NO_MATCHING_KEY');
  });

  it('stay valid when they are old while the issuer is unavailable, which is called once per cooldown', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 60_000, maxAgeMs: 0 });
    await good(keys, first);
    away = true;
    for (let n = 0; n < 10; n += 1) expect(await good(keys, first)).toBe('good');
    expect(fetches).toBe(2);
  });

  it('serve all requests when they are old while one request calls the unavailable issuer', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 60_000, maxAgeMs: 0 });
    await good(keys, first);
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    const finding = good(keys, first);
    expect(await good(keys, first)).toBe('good');
    resolve();
    expect(await finding).toBe('good');
  });

  it('do not decide about an unknown key while the issuer is unavailable', async () => {
    const keys = createKeySet(url, { fetch, cooldownMs: 0, maxAgeMs: 0 });
    await good(keys, first);
    away = true;
    expect(await good(keys, second)).toBe('ERR_JOSE_GENERIC');
    away = false;
    expect(await good(keys, first)).toBe('good');
  });
});
