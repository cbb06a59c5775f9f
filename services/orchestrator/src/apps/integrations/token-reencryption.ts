import { createHash } from 'node:crypto';
import type { Logger } from '@uswarm/service-kit';
import type { LeasedJob, NewJob } from '../../platform/jobs/job-queue.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { SealedTable } from '../../records/integrations.store.js';
import { DecryptionError, type TokenCipher } from './token-cipher.js';
import type * as integrationRecords from '../../records/integrations.store.js';
import type { Database } from '../../platform/database/database.js';

/** Job type that re-encrypts all tokens that are encrypted with another key than the job's. */
export const TOKEN_REENCRYPTION_JOB = 'integration-rekey';
/** The jobs belong to no workspace. */
const NO_WORKSPACE = '00000000-0000-0000-0000-000000000001';

/** The job's subject is a hash over the key id, so each key has one job. */
export function tokenReencryption(keyId: string): NewJob {
  const hash = createHash('sha256').update(keyId).digest('hex');
  const subjectId = hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
  return { kind: TOKEN_REENCRYPTION_JOB, subjectId, workspaceId: NO_WORKSPACE };
}

export interface TokenReencryptionDeps {
  database: Database;
  store: Pick<typeof integrationRecords, 'listSealedOtherwise' | 'resealTokens'>;
  cipher: TokenCipher;
  logger: Logger;
}

const BATCH = 200;
const ROUND_MS = 60_000;
/**
 * Replicas with another current key store tokens while they run, so rounds continue for half an hour after the last
 * start.
 */
const ROUNDS = 30;
/** A day: after that, no replica has the key any more. */
const UNHANDLED_ROUNDS = 1_440;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const TABLES: readonly SealedTable[] = [
  'integrations',
  'integration_revocations',
  'webhook_secrets',
  'trigger_secrets',
];

export function createTokenReencryption({ database, store, cipher, logger }: TokenReencryptionDeps) {
  async function reencrypt(table: SealedTable, signal: AbortSignal): Promise<{ done: number; lost: number }> {
    const count = { done: 0, lost: 0 };
    for (let after = FIRST_ID; ;) {
      const rows = await store.listSealedOtherwise(database, table, cipher.keyId, after, BATCH);
      for (const row of rows) {
        signal.throwIfAborted();
        try {
          await store.resealTokens(database, table, row, cipher.seal(cipher.open(row, row), row));
          count.done += 1;
        } catch (error) {
          if (!(error instanceof DecryptionError)) throw error;
          count.lost += 1;
        }
      }
      const last = rows.at(-1);
      if (last === undefined) return count;
      after = last.id;
    }
  }

  /** @returns how many tokens were re-encrypted, and how many cannot be */
  async function reencryptAll(signal: AbortSignal): Promise<{ done: number; lost: number }> {
    const total = { done: 0, lost: 0 };
    for (const table of TABLES) {
      const { done, lost } = await reencrypt(table, signal);
      if (done > 0) logger.info({ table, count: done }, 'tokens re-encrypted with the current key');
      if (lost > 0) logger.error({ table, count: lost }, 'tokens cannot be decrypted; is a key missing?');
      total.done += done;
      total.lost += lost;
    }
    return total;
  }

  const own = tokenReencryption(cipher.keyId);
  return async ({ subjectId, attempts }: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    // The job for another key is left for the replicas that encrypt with it.
    if (subjectId !== own.subjectId) return attempts < UNHANDLED_ROUNDS ? { againInMs: ROUND_MS } : { done: true };
    const { done, lost } = await reencryptAll(signal);
    if (attempts < ROUNDS || done > 0) return { againInMs: ROUND_MS };
    if (lost === 0) logger.info({ key: cipher.keyId }, 'all tokens are encrypted with the current key');
    return { done: true };
  };
}
