import { describe, expect, it } from '@jest/globals';
import type { HttpRequest } from './http-client.js';
import { createIdTokenSource, expiryOf } from './id-token.js';

const token = (claims: object, mark = 's') => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${mark}`;

function source(answers: { status: number; body: unknown }[], clock: { now: number }) {
  const asked: HttpRequest[] = [];
  const http = {
    send: async (wanted: HttpRequest) => {
      asked.push(wanted);
      return answers[asked.length - 1]!;
    },
  };
  const person = { email: 'a@example.com', name: 'A' };
  const idTokens = createIdTokenSource({ http, issuer: 'http://localhost/oidc/', ...person, now: () => clock.now });
  return { idTokens, asked };
}

describe('ID tokens', () => {
  it('come from the development issuer', async () => {
    const { idTokens, asked } = source([{ status: 200, body: { id_token: token({ exp: 4_000 }) } }], { now: 0 });
    await expect(idTokens.current()).resolves.toBe(token({ exp: 4_000 }));
    expect(asked).toEqual([
      { method: 'POST', url: 'http://localhost/oidc/dev/token', json: { email: 'a@example.com', name: 'A' } },
    ]);
  });

  it('are used until a minute before they expire', async () => {
    const clock = { now: 0 };
    const [first, second] = [token({ exp: 100 }, '1'), token({ exp: 200 }, '2')];
    const { idTokens } = source(
      [first, second].map((id_token) => ({ status: 200, body: { id_token } })),
      clock,
    );
    await expect(idTokens.current()).resolves.toBe(first);
    clock.now = 39_999;
    await expect(idTokens.current()).resolves.toBe(first);
    clock.now = 40_000;
    await expect(idTokens.current()).resolves.toBe(second);
  });

  it.each([
    { status: 404, body: undefined },
    { status: 200, body: {} },
  ])('are missed in one sentence: %j', async (answer) => {
    const { idTokens } = source([answer], { now: 0 });
    await expect(idTokens.current()).rejects.toThrow(/^The development issuer gave no token for a@example\.com/);
  });

  it.each(['', 'x', 'a.b.c', token({}), token({ exp: 'soon' })])(
    'count as expired when they do not say: %s',
    (text) => {
      expect(expiryOf(text)).toBe(0);
    },
  );
});
