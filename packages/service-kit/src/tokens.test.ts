import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { decodeJwt, SignJWT } from 'jose';
import {
  allowsPage,
  allowsQuery,
  callPublicKey,
  createCallTokenVerifier,
  generateCallKeys,
  parseSigningKey,
  signCallToken,
  signInternalToken,
  signModelCallsToken,
  signMcpToken,
  signModelToken,
  TokenError,
  verifyInternalToken,
  verifyModelCallsToken,
  verifyMcpToken,
  verifyModelToken,
} from './tokens.js';

const SECRET = 'of this test, and long enough for it';
const key = parseSigningKey(`new:${SECRET}`);
const older = parseSigningKey(`old:${SECRET.toUpperCase()}`);
const WORKSPACE = '0192d3a4-0000-7000-8000-000000000001';
const TURN = { workspaceId: WORKSPACE, agentId: 'agent-1', turnId: 'turn-1' };
const CALLER = { workspaceId: WORKSPACE, query: 'none', page: 'none' };
const SECOND = 1_000;

beforeEach(
  () =>
    void jest.useFakeTimers({
      now: new Date('2026-01-01T00:00:00Z'),
      doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'],
    }),
);
afterEach(() => void jest.useRealTimers());

const refusal = (verifying: Promise<unknown>): Promise<unknown> => verifying.catch((error: unknown) => error);

/** The same token with one byte of its claims changed. */
function tampered(token: string): string {
  const [header, claims = '', signature] = token.split('.');
  const changed = Buffer.from(claims, 'base64url').toString().replace('"sub":"', '"sub":"x');
  return [header, Buffer.from(changed).toString('base64url'), signature].join('.');
}

describe('a signing key', () => {
  it('is an id and a secret, or only a secret', () => {
    expect(parseSigningKey(`k1:${SECRET}`)).toEqual({ id: 'k1', secret: new TextEncoder().encode(SECRET) });
    expect(parseSigningKey(SECRET)).toEqual({ id: 'default', secret: new TextEncoder().encode(SECRET) });
    expect(parseSigningKey(`k1:${SECRET}:more`).secret).toEqual(new TextEncoder().encode(`${SECRET}:more`));
  });

  it('is rejected if it has fewer than 32 bytes', () => {
    expect(() => parseSigningKey(`id-of-some-length:${'x'.repeat(31)}`)).toThrow(TokenError);
    expect(parseSigningKey(`id:${'é'.repeat(16)}`).secret).toHaveLength(32);
  });
});

describe('the token that runtimes show to MCP servers', () => {
  it('contains workspace, agent and turn, and is rejected after four minutes', async () => {
    const token = await signMcpToken(key, TURN);
    expect(decodeJwt(token)).toMatchObject({ sub: WORKSPACE, agent: TURN.agentId, turn: TURN.turnId, aud: 'mcp' });
    jest.advanceTimersByTime(239 * SECOND);
    expect(await verifyMcpToken([key], token)).toEqual(CALLER);
    jest.advanceTimersByTime(SECOND);
    expect(await refusal(verifyMcpToken([key], token))).toBeInstanceOf(TokenError);
  });

  it('is only valid for the list of the tools, or for one query', async () => {
    const [list, tea] = [await signMcpToken(key, TURN), await signMcpToken(key, TURN, { query: 'tea' })];
    const allowed = async (token: string) => {
      const caller = await verifyMcpToken([key], token);
      return ['tea', 'Tea', ''].filter((query) => allowsQuery(caller, query));
    };
    expect(await allowed(list)).toEqual([]);
    expect(await allowed(tea)).toEqual(['tea']);
    expect(decodeJwt(tea)).not.toHaveProperty('scope');
    expect(JSON.stringify(decodeJwt(tea))).not.toContain('"tea"');
  });

  it('is valid for one page address and no query, or for one query and no address', async () => {
    const address = 'https://example.org/?q=tea';
    const tokens = [
      await signMcpToken(key, TURN, { page: address }),
      await signMcpToken(key, TURN, { query: address }),
    ];
    const callers = await Promise.all(tokens.map((token) => verifyMcpToken([key], token)));
    expect(callers.map((caller) => [allowsPage(caller, address), allowsQuery(caller, address)])).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(allowsPage(callers[0]!, `${address}&k=1`)).toBe(false);
  });

  it('is accepted with each key during a key rotation', async () => {
    const token = await signMcpToken(older, TURN);
    expect(await verifyMcpToken([key, older], token)).toEqual(CALLER);
    expect(await refusal(verifyMcpToken([key], token))).toBeInstanceOf(TokenError);
  });

  it('requires an expiry, and is rejected after it', async () => {
    const unlimited = new SignJWT().setProtectedHeader({ alg: 'HS256', kid: key.id }).setSubject(WORKSPACE);
    const token = await unlimited.setAudience('mcp').sign(key.secret);
    const ofTurn = await signMcpToken(key, TURN);
    expect(await refusal(verifyMcpToken([key], token))).toBeInstanceOf(TokenError);
    jest.advanceTimersByTime(240 * SECOND);
    expect(await refusal(verifyMcpToken([key], ofTurn))).toBeInstanceOf(TokenError);
  });

  it.each([
    ['another secret under the same id', () => signMcpToken({ ...older, id: key.id }, TURN)],
    ['a changed subject', async () => tampered(await signMcpToken(key, TURN))],
    ['a token for the internal API', () => signInternalToken(key, WORKSPACE)],
    ['no token at all', async () => 'no.token.this'],
    ['an empty text', async () => ''],
    [
      'an unsigned token',
      async () => {
        const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
        return `${part({ alg: 'none', kid: key.id })}.${part({ sub: WORKSPACE, aud: 'mcp', exp: 9_999_999_999 })}.`;
      },
    ],
    [
      'a token without a subject',
      () =>
        new SignJWT()
          .setProtectedHeader({ alg: 'HS256', kid: key.id })
          .setAudience('mcp')
          .setExpirationTime('60s')
          .sign(key.secret),
    ],
  ])('is not %s', async (_what, token) => {
    expect(await refusal(verifyMcpToken([key], await token()))).toBeInstanceOf(TokenError);
  });
});

describe('the token that runtimes show to the model gateway', () => {
  const MODEL_TURN = { ...TURN, purpose: 'turn' } as const;
  const modelRefusal = (token: string, keys = [key]): Promise<unknown> =>
    verifyModelToken(keys, token).catch((error: unknown) => error);

  it('names workspace, agent, turn and purpose, and is rejected after four minutes', async () => {
    const token = await signModelToken(key, MODEL_TURN);
    jest.advanceTimersByTime(239 * SECOND);
    expect(await verifyModelToken([key], token)).toEqual(MODEL_TURN);
    jest.advanceTimersByTime(SECOND);
    expect(await modelRefusal(token)).toBeInstanceOf(TokenError);
  });

  it('is accepted with each key during a key rotation', async () => {
    const token = await signModelToken(older, MODEL_TURN);
    expect(await verifyModelToken([key, older], token)).toEqual(MODEL_TURN);
    expect(await modelRefusal(token)).toBeInstanceOf(TokenError);
  });

  const sign = (claims: object) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256', kid: key.id })
      .setSubject(WORKSPACE)
      .setAudience('model-gateway')
      .setExpirationTime('60s')
      .sign(key.secret);

  it.each([
    ['a changed subject', async () => tampered(await signModelToken(key, MODEL_TURN))],
    ['another secret under the same id', () => signModelToken({ ...older, id: key.id }, MODEL_TURN)],
    ['a tool token', () => signMcpToken(key, TURN)],
    ['a token for the internal API', () => signInternalToken(key, WORKSPACE)],
    ['a token without a turn', () => sign({ agent: 'a', purpose: 'turn' })],
    ['a token with an unknown purpose', () => sign({ agent: 'a', turn: 't', purpose: 'other' })],
    [
      'a token without an expiry',
      () =>
        new SignJWT({ agent: 'a', turn: 't', purpose: 'turn' })
          .setProtectedHeader({ alg: 'HS256', kid: key.id })
          .setSubject(WORKSPACE)
          .setAudience('model-gateway')
          .sign(key.secret),
    ],
  ])('is not %s', async (_what, token) => {
    expect(await modelRefusal(await token())).toBeInstanceOf(TokenError);
  });

  it('is not accepted by the tool server', async () => {
    expect(await refusal(verifyMcpToken([key], await signModelToken(key, MODEL_TURN)))).toBeInstanceOf(TokenError);
  });
});

describe('the token of the internal API', () => {
  it('authenticates its subject for 60 seconds, and 30 seconds longer because clocks differ', async () => {
    const token = await signInternalToken(key, 'user-1');
    jest.advanceTimersByTime(89 * SECOND);
    expect(await verifyInternalToken([key], token)).toBe('user-1');
    jest.advanceTimersByTime(SECOND);
    expect(await refusal(verifyInternalToken([key], token))).toMatchObject({ name: 'TokenError', isExpired: true });
    const other = { ...key, secret: new TextEncoder().encode('x'.repeat(32)) };
    expect(await refusal(verifyInternalToken([other], token))).toMatchObject({ name: 'TokenError', isExpired: false });
  });

  it('is rejected if it is for MCP servers or never expires', async () => {
    expect(await refusal(verifyInternalToken([key], await signMcpToken(key, TURN)))).toBeInstanceOf(TokenError);
    const { aud } = decodeJwt(await signInternalToken(key, 'user-1'));
    const forever = new SignJWT()
      .setProtectedHeader({ alg: 'HS256', kid: key.id })
      .setSubject('user-1')
      .setAudience(aud ?? '');
    expect(await refusal(verifyInternalToken([key], await forever.sign(key.secret)))).toBeInstanceOf(TokenError);
  });
});

describe('the token of the model gateway', () => {
  it('authenticates it for 60 seconds, with each key during a rotation', async () => {
    const token = await signModelCallsToken(older, 'model-gateway');
    // Clocks may differ by 30 seconds.
    jest.advanceTimersByTime(89 * SECOND);
    expect(await verifyModelCallsToken([key, older], token)).toBe('model-gateway');
    expect(await refusal(verifyModelCallsToken([key], token))).toBeInstanceOf(TokenError);
    jest.advanceTimersByTime(SECOND);
    expect(await refusal(verifyModelCallsToken([key, older], token))).toBeInstanceOf(TokenError);
  });

  it('is not a token of a realtime gateway, and the other way round', async () => {
    const [ofModels, ofSockets] = [await signModelCallsToken(key, 'a'), await signInternalToken(key, 'a')];
    expect(await refusal(verifyInternalToken([key], ofModels))).toBeInstanceOf(TokenError);
    expect(await refusal(verifyModelCallsToken([key], ofSockets))).toBeInstanceOf(TokenError);
  });
});

describe('the token of a call to a runtime', () => {
  const pair = generateCallKeys();
  const privateKey = createPrivateKey(pair.privateKey);
  const publicKey = createPublicKey(pair.publicKey);
  const sign = () => signCallToken(privateKey, { subject: 'orchestrator', audience: WORKSPACE });
  const verify = createCallTokenVerifier(publicKey, WORKSPACE);

  it('authenticates the caller for 60 seconds and the tolerance of clocks, however often it is used', async () => {
    const token = await sign();
    expect(await verify(token)).toBe('orchestrator');
    jest.advanceTimersByTime(89 * SECOND);
    expect(await verify(token)).toBe('orchestrator');
    jest.advanceTimersByTime(SECOND);
    expect(await refusal(verify(token))).toBeInstanceOf(TokenError);
  });

  it('is rejected for another workspace or with another key', async () => {
    const token = await sign();
    await verify(token);
    const elsewhere = createCallTokenVerifier(publicKey, WORKSPACE.replace(/1$/, '2'));
    expect(await refusal(elsewhere(token))).toBeInstanceOf(TokenError);
    expect(await refusal(verify(tampered(token)))).toBeInstanceOf(TokenError);
    const other = createCallTokenVerifier(generateKeyPairSync('ed25519').publicKey, WORKSPACE);
    expect(await refusal(other(token))).toBeInstanceOf(TokenError);
  });

  it('is verified with the public key that is derived from the private key', () => {
    expect(callPublicKey(pair.privateKey)).toBe(pair.publicKey);
    expect(pair.publicKey).not.toContain('PRIVATE');
  });
});
