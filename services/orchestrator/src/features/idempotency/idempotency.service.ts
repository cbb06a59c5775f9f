import { createHash } from 'node:crypto';
import { ApiError, type OperationId } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import type { IdempotencyStore } from './idempotency.store.js';

/** Kind of the work that removes keys which are too old. */
export const IDEMPOTENCY_PRUNING_JOB = 'idempotency-pruning';

/** Who sent which `Idempotency-Key`, if any. */
export interface KeyOwner {
  userId: string;
  key: string | undefined;
}

/** A request that creates something. */
export interface CreatingRequest extends KeyOwner {
  operation: OperationId;
  /** What decides what is created; the same for a request that is sent again. */
  content: unknown;
}

/** Remembers in the transaction that creates the subject. @throws DuplicateRequest when the key was used before */
export type Claim = (subjectId: string, tx: Transaction) => Promise<void>;

/** Keys by which a creation that is sent again has its first result. See draft-ietf-httpapi-idempotency-key-header. */
export interface Idempotency {
  /**
   * Creates, or names what the same request created before.
   *
   * @param create calls `claim` before it counts or inserts anything
   * @returns the id of what was created
   * @throws ApiError `idempotency_key_reused` when the key was used for another request
   */
  once(request: CreatingRequest, create: (claim: Claim) => Promise<string>): Promise<string>;
  /** What the same request created. @throws ApiError `idempotency_key_reused` */
  earlier(request: CreatingRequest): Promise<string | undefined>;
  isUsed(owner: KeyOwner): Promise<boolean>;
  claim(request: CreatingRequest): Claim;
}

/** Another request with the same key has created something. */
export class DuplicateRequest extends Error {
  override name = 'DuplicateRequest';
}

/** The object of the key is deleted, so its first result cannot be returned again. */
export const keyWithoutResult = (): ApiError =>
  new ApiError('idempotency_key_reused', { message: 'What was created with this Idempotency-Key has been deleted.' });

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const requestHashOf = ({ operation, content }: CreatingRequest): Buffer => hashOf(JSON.stringify([operation, content]));

export function createIdempotency(store: IdempotencyStore): Idempotency {
  const find = async ({ userId, key }: KeyOwner) => (key === undefined ? undefined : store.find(userId, hashOf(key)));

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
      if (!(await store.insert(use, tx))) throw new DuplicateRequest('the key was used before');
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
        const winner = error instanceof DuplicateRequest ? await earlier(request) : undefined;
        if (winner === undefined) throw error;
        return winner;
      }
    },
  };
}
