import { describe, expect, it } from '@jest/globals';
import type { HttpRequest } from './http-client.js';
import { createIdTokenSource, expiryOf } from './id-token.js';

const token = (claims: object, mark = 's') => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${mark}`;

function source(responses: { status: number; body: unknown }[], clock: { now: number }) {
  const requests: HttpRequest[] = [];
  const http = {
    send: async (request: HttpRequest) => {
      requests.push(request);
      return responses[requests.length - 1]!;
    },
  };
  const user = { email: 'a@example.com', name: 'A' };
  const idTokens = createIdTokenSource({ http, issuer: 'http://localhost/oidc/', ...user, now: () => clock.now });
  return { idTokens, requests };
}

describe('the ID token source', () => {
  it('fetches a token from the development issuer', async () => {
    const { idTokens, requests } = source([{ status: 200, body: { id_token: token({ exp: 4_000 }) } }], { now: 0 });
    await expect(idTokens.current()).resolves.toBe(token({ exp: 4_000 }));
    expect(requests).toEqual([
      { method: 'POST', url: 'http://localhost/oidc/dev/token', json: { email: 'a@example.com', name: 'A' } },
    ]);
  });

  it('caches a token until 90 seconds before its expiry', async () => {
    const clock = { now: 0 };
    const [first, second] = [token({ exp: 100 }, '1'), token({ exp: 200 }, '2')];
    const { idTokens } = source(
      [first, second].map((id_token) => ({ status: 200, body: { id_token } })),
      clock,
    );
    await expect(idTokens.current()).resolves.toBe(first);
    clock.now = 9_999;
    await expect(idTokens.current()).resolves.toBe(first);
    clock.now = 10_000;
    await expect(idTokens.current()).resolves.toBe(second);
  });

  it.each([
    { status: 404, body: undefined },
    { status: 200, body: {} },
  ])('fails with one sentence when the issuer returns %j', async (response) => {
    const { idTokens } = source([response], { now: 0 });
    await expect(idTokens.current()).rejects.toThrow(/^The development issuer returned no token for a@example\.com/);
  });

  it.each(['', 'x', 'a.b.c', token({}), token({ exp: 'soon' })])(
    'treats a token without an expiry as expired: %s',
    (text) => {
      expect(expiryOf(text)).toBe(0);
    },
  );
});
