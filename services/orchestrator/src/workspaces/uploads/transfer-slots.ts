import { ApiError } from '@uswarm/contract';

export interface Transfer {
  /** Bytes so far. */
  received(): number;
  abort(error: ApiError): void;
}

export interface TransferLimits {
  /** Maximum concurrent transfers per process, which bounds its memory and connections. */
  maxConcurrent: number;
  maxConcurrentPerOwner: number;
}

export interface TransferSlots {
  /**
   * @param owner the uploading user, or the downloaded file
   * @returns releases the slot
   * @throws ApiError `rate_limited`
   */
  take(owner: string, transfer: Transfer): () => void;
}

const BUSY_RETRY_MS = 2_000;
/** A new transfer has no rate yet. */
const PROTECTED_MS = 10_000;
/** In a full pool, slower transfers make room for others. */
const SLOW_BYTES_PER_S = 64 * 1024;

interface Held {
  owner: string;
  transfer: Transfer;
  startedAt: number;
}

/**
 * Admits transfers. If all slots are taken, an owner without a transfer gets the slot of the slowest transfer that is
 * slow or whose owner has several: otherwise a few owners could block all others.
 *
 * @param now milliseconds
 */
export function createTransferSlots(
  { maxConcurrent, maxConcurrentPerOwner }: TransferLimits,
  now: () => number = () => performance.now(),
): TransferSlots {
  const slots = new Set<Held>();
  const countOf = (owner: string): number => [...slots].filter((held) => held.owner === owner).length;
  const rateOf = ({ transfer, startedAt }: Held): number => (transfer.received() / (now() - startedAt)) * 1_000;

  function slowest(): Held | undefined {
    return [...slots]
      .filter((held) => now() - held.startedAt >= PROTECTED_MS)
      .filter((held) => countOf(held.owner) > 1 || rateOf(held) < SLOW_BYTES_PER_S)
      .toSorted((a, b) => rateOf(a) - rateOf(b))[0];
  }

  return {
    take(owner, transfer) {
      const busy = new ApiError('rate_limited', { extra: { retry_after_ms: BUSY_RETRY_MS } });
      const own = countOf(owner);
      if (own >= maxConcurrentPerOwner) throw busy;
      if (slots.size >= maxConcurrent) {
        const ended = own === 0 ? slowest() : undefined;
        if (ended === undefined) throw busy;
        slots.delete(ended);
        ended.transfer.abort(
          new ApiError('upload_stalled', { message: 'The upload was slow, and other users were waiting.' }),
        );
      }
      const held = { owner, transfer, startedAt: now() };
      slots.add(held);
      return () => void slots.delete(held);
    },
  };
}
