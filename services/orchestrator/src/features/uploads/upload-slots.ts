import { ApiError } from '@uswarm/contract';

/** An upload that is being received, or a download that is being sent. */
export interface ReceivingUpload {
  /** Bytes so far. */
  received(): number;
  abort(error: ApiError): void;
}

export interface UploadSlotLimits {
  /** Maximum concurrent uploads of this process, which bounds its memory. */
  maxConcurrent: number;
  /** Maximum concurrent uploads per user. */
  maxConcurrentPerUser: number;
}

export interface UploadSlots {
  /** @returns a function that releases the slot. @throws ApiError `rate_limited` */
  take(userId: string, upload: ReceivingUpload): () => void;
}

const BUSY_RETRY_MS = 2_000;
/** A new upload has no rate yet. */
const PROTECTED_MS = 10_000;
/** In a full pool, slower uploads make room for others. */
const SLOW_BYTES_PER_S = 64 * 1024;

interface Held {
  userId: string;
  upload: ReceivingUpload;
  startedAt: number;
}

/**
 * Admits uploads. If all slots are taken, a user without an upload gets the slot of the slowest one that is slow or whose user has
 * several: otherwise a few accounts could keep all uploads of the others refused.
 *
 * @param now milliseconds
 */
export function createUploadSlots(
  { maxConcurrent, maxConcurrentPerUser }: UploadSlotLimits,
  now: () => number = () => performance.now(),
): UploadSlots {
  const slots = new Set<Held>();
  const countOf = (user: string): number => [...slots].filter(({ userId }) => userId === user).length;
  const rateOf = ({ upload, startedAt }: Held): number => (upload.received() / (now() - startedAt)) * 1_000;

  function slowest(): Held | undefined {
    return [...slots]
      .filter((held) => now() - held.startedAt >= PROTECTED_MS)
      .filter((held) => countOf(held.userId) > 1 || rateOf(held) < SLOW_BYTES_PER_S)
      .toSorted((a, b) => rateOf(a) - rateOf(b))[0];
  }

  return {
    take(userId, upload) {
      const busy = new ApiError('rate_limited', { extra: { retry_after_ms: BUSY_RETRY_MS } });
      const own = countOf(userId);
      if (own >= maxConcurrentPerUser) throw busy;
      if (slots.size >= maxConcurrent) {
        const ended = own === 0 ? slowest() : undefined;
        if (ended === undefined) throw busy;
        slots.delete(ended);
        ended.upload.abort(
          new ApiError('upload_stalled', { message: 'The upload was slow, and other users were waiting.' }),
        );
      }
      const held = { userId, upload, startedAt: now() };
      slots.add(held);
      return () => void slots.delete(held);
    },
  };
}
