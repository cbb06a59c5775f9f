import type { Logger } from '@uswarm/service-kit';
import type { JobResult } from '../../jobs/job-worker.js';
import type { IntegrationStore, SealedTable } from './integrations.store.js';
import { DecryptionError, type TokenCipher } from './token-cipher.js';

/** Job type that re-encrypts all tokens that are encrypted with an older key. */
export const TOKEN_REENCRYPTION_JOB = 'integration-rekey';
/** Fixed subject id: one job exists per installation. */
export const TOKEN_REENCRYPTION_ID = '00000000-0000-0000-0000-000000000001';

export interface TokenReencryptionDeps {
  store: Pick<IntegrationStore, 'sealedOtherwise' | 'reseal'>;
  cipher: TokenCipher;
  logger: Logger;
}

const BATCH = 200;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const TABLES: readonly SealedTable[] = ['integrations', 'integration_revocations'];

export function createTokenReencryption({ store, cipher, logger }: TokenReencryptionDeps) {
  async function reencrypt(table: SealedTable, signal: AbortSignal): Promise<{ done: number; lost: number }> {
    const count = { done: 0, lost: 0 };
    for (let after = FIRST_ID; ;) {
      const rows = await store.sealedOtherwise(table, cipher.keyId, after, BATCH);
      for (const row of rows) {
        signal.throwIfAborted();
        try {
          await store.reseal(table, row, cipher.seal(cipher.open(row, row), row));
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

  return async (_work: unknown, signal: AbortSignal): Promise<JobResult> => {
    for (const table of TABLES) {
      const { done, lost } = await reencrypt(table, signal);
      if (done > 0) logger.info({ table, count: done }, 'tokens re-encrypted with the current key');
      if (lost > 0) logger.error({ table, count: lost }, 'tokens cannot be decrypted; is a key missing?');
    }
    return { done: true };
  };
}
