import { describe, expect, it, jest } from '@jest/globals';
import type { JWTVerifyGetKey } from 'jose';
import { createVerifiedTokens } from './verified-tokens.js';

const TOLERANCE_S = 5;
const nowS = (): number => Math.floor(Date.now() / 1_000);

function setUp({ maxTokens = 10, exp = nowS() + 60, nbf }: { maxTokens?: number; exp?: number; nbf?: number } = {}) {
  const published: { key: unknown } = { key: { id: 'first' } };
  const keys = jest.fn(async (..._sent: Parameters<JWTVerifyGetKey>) => {
    if (published.key === undefined) throw new Error('no matching key');
    return published.key;
  });
  const tokens = createVerifiedTokens<string>({ clockToleranceS: TOLERANCE_S, maxTokens });
  const add = (token: string): void =>
    tokens.add(token, {
      value: `value of ${token}`,
      payload: { exp, ...(nbf === undefined ? {} : { nbf }) },
      header: { alg: 'ES256', kid: 'first' },
      key: published.key,
      keys: keys as unknown as JWTVerifyGetKey,
    });
  return { tokens, add, published, keys };
}

describe('verified tokens', () => {
  it('are found until they expire', async () => {
    const { tokens, add, keys } = setUp();
    add('token');
    expect(await tokens.find('token')).toBe('value of token');
    expect(keys).toHaveBeenCalledWith({ alg: 'ES256', kid: 'first' }, expect.anything());
    expect(await tokens.find('token ')).toBeUndefined();
  });

  it('are not found after their expiry and the allowed clock difference', async () => {
    const late = setUp({ exp: nowS() - TOLERANCE_S - 1 });
    late.add('token');
    expect(await late.tokens.find('token')).toBeUndefined();
    const tolerated = setUp({ exp: nowS() - 1 });
    tolerated.add('token');
    expect(await tolerated.tokens.find('token')).toBe('value of token');
  });

  it('are not found before they become valid', async () => {
    const { tokens, add } = setUp({ nbf: nowS() + TOLERANCE_S + 60 });
    add('token');
    expect(await tokens.find('token')).toBeUndefined();
  });

  it('are forgotten if the issuer publishes another key or withdraws the key', async () => {
    const { tokens, add, published } = setUp();
    const first = published.key;
    for (const next of [{ id: 'first' }, undefined]) {
      published.key = first;
      add('token');
      published.key = next;
      expect(await tokens.find('token')).toBeUndefined();
      published.key = first;
      expect(await tokens.find('token')).toBeUndefined();
    }
  });

  it('are forgotten in the order in which they were added if there are too many', async () => {
    const { tokens, add } = setUp({ maxTokens: 2 });
    for (const token of ['a', 'b', 'c']) add(token);
    const found = await Promise.all(['a', 'b', 'c'].map((token) => tokens.find(token)));
    expect(found).toEqual([undefined, 'value of b', 'value of c']);
  });
});
