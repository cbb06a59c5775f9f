import { createHash } from 'node:crypto';
import { ApiError, type OperationId } from '@uswarm/contract';
import type { Transaction, Database } from '../database/database.js';
import { findUsedKey, insertUsedKey } from './idempotency.store.js';

/** Job type that deletes expired keys. */
export const IDEMPOTENCY_PRUNING_JOB = 'idempotency-pruning';

export interface KeyOwner {
  userId: string;
  key: string | undefined;
}

export interface CreatingRequest extends KeyOwner {
  operation: OperationId | 'receiveTrigger';
  /** The input that determines the result. Retries have the same content. */
  content: unknown;
}

/** Stores the key in the transaction that creates the subject. @throws DuplicateRequest if the key was used before */
export type Claim = (subjectId: string, tx: Transaction) => Promise<void>;

/** Returns the first result for retried create requests. See draft-ietf-httpapi-idempotency-key-header. */
export interface Idempotency {
  /**
   * Creates the subject, or returns the id from the first request with the same key.
   *
   * @param create must call `claim` before it counts or inserts anything
   * @returns the created subject's id
   * @throws ApiError `idempotency_key_reused` if the key was used for a different request
   */
  once(request: CreatingRequest, create: (claim: Claim) => Promise<string>): Promise<string>;
  /** Returns the id created by an earlier identical request. @throws ApiError `idempotency_key_reused` */
  earlier(request: CreatingRequest): Promise<string | undefined>;
  isUsed(owner: KeyOwner): Promise<boolean>;
  claim(request: CreatingRequest): Claim;
}

/** A request with the same key has already created a subject. */
export class DuplicateRequest extends Error {
  override name = 'DuplicateRequest';
}

/** The key's subject was deleted, so the first result cannot be returned. */
export const keyWithoutResult = (): ApiError =>
  new ApiError('idempotency_key_reused', { message: 'What was created with this Idempotency-Key has been deleted.' });

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const requestHashOf = ({ operation, content }: CreatingRequest): Buffer => hashOf(JSON.stringify([operation, content]));

export function createIdempotency(database: Database): Idempotency {
  const find = async ({ userId, key }: KeyOwner) =>
    key === undefined ? undefined : findUsedKey(database, userId, hashOf(key));

  async function earlier(request: CreatingRequest): Promise<string | undefined> {
    const used = await find(request);
    if (used !== undefined && !used.requestHash.equals(requestHashOf(request))) {
      throw new ApiError('idempotency_key_reused');
    }
    return used?.subjectId;
  }

  const claim =
    (request: CreatingRequest): Claim =>
    async (subjectId, tx) => {
      const { userId, key } = request;
      if (key === undefined) return;
      const use = { userId, keyHash: hashOf(key), requestHash: requestHashOf(request), subjectId };
      if (!(await insertUsedKey(tx, use))) throw new DuplicateRequest('the key was used before');
    };

  return {
    earlier,
    claim,
    isUsed: async (owner) => (await find(owner)) !== undefined,
    async once(request, create) {
      const first = await earlier(request);
      if (first !== undefined) return first;
      try {
        return await create(claim(request));
      } catch (error) {
        const concurrent = error instanceof DuplicateRequest ? await earlier(request) : undefined;
        if (concurrent === undefined) throw error;
        return concurrent;
      }
    },
  };
}
