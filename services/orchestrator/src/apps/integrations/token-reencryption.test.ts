import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { isId } from '../../platform/database/id.js';
import type { SealedRow } from '../../records/integrations.store.js';
import { createTokenCipher, type TokenKey } from './token-cipher.js';
import { createTokenReencryption, tokenReencryption } from './token-reencryption.js';
import { NO_TRANSACTION } from '../../../test/transaction.js';

const [older, newer]: [TokenKey, TokenKey] = [
  { id: 'older', key: randomBytes(32) },
  { id: 'newer', key: randomBytes(32) },
];
const OWNER = { userId: 'u', provider: 'gmail' } as const;

describe('createTokenReencryption', () => {
  /** This replica encrypts with the newer key, and another replica stored the integration's tokens. */
  function createFixture(keys: [TokenKey, ...TokenKey[]] = [newer, older]) {
    const row: SealedRow = { id: 'i', ...OWNER, ...createTokenCipher([older]).seal({ accessToken: 't' }, OWNER) };
    const handle = createTokenReencryption({
      database: NO_TRANSACTION,
      store: {
        listSealedOtherwise: async (_db, table, keyId, after) =>
          table === 'integrations' && row.keyId !== keyId && after < row.id ? [row] : [],
        resealTokens: async (_db, _table, _row, sealed) => void Object.assign(row, sealed),
      },
      cipher: createTokenCipher(keys),
      logger: silentLogger,
    });
    const run = (keyId: string, attempts: number) => {
      const state = { leaseId: 'l', failures: 0, takenOver: false };
      return handle({ ...tokenReencryption(keyId), ...state, attempts }, new AbortController().signal);
    };
    return { row, run };
  }

  it('repeats the job for half an hour, because older replicas may still store tokens', async () => {
    const { row, run } = createFixture();
    expect(await run('newer', 1)).toEqual({ againInMs: 60_000 });
    expect(row.keyId).toBe('newer');
    expect(await run('newer', 29)).toEqual({ againInMs: 60_000 });
    expect(await run('newer', 30)).toEqual({ done: true });
  });

  it('repeats the job as long as it finds tokens with another key', async () => {
    const { run } = createFixture();
    expect(await run('newer', 100)).toEqual({ againInMs: 60_000 });
    expect(await run('newer', 101)).toEqual({ done: true });
  });

  it('leaves tokens unchanged whose key is missing', async () => {
    const { row, run } = createFixture([newer]);
    const stored = { ...row };
    expect(await run('newer', 30)).toEqual({ done: true });
    expect(row).toEqual(stored);
  });

  it('leaves the job for another key to other replicas for a day, and changes nothing', async () => {
    const { row, run } = createFixture();
    expect(await run('older', 1_439)).toEqual({ againInMs: 60_000 });
    expect(await run('older', 1_440)).toEqual({ done: true });
    expect(row.keyId).toBe('older');
  });
});

describe('tokenReencryption', () => {
  it('has one job per key, whose subject is an id', () => {
    const { subjectId } = tokenReencryption('older');
    expect(isId(subjectId)).toBe(true);
    expect(tokenReencryption('older').subjectId).toBe(subjectId);
    expect(tokenReencryption('newer').subjectId).not.toBe(subjectId);
  });
});
