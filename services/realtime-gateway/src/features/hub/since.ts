/** The position from which a client continues. */
export interface Since {
  seq: number;
  /** The client may not know it. */
  epoch?: string;
}

/** Reads `seq` or `epoch:seq`, which the contract has validated. */
export function readSince(position: number | string): Since {
  if (typeof position === 'number') return { seq: position };
  const [epoch = '', seq] = position.split(':');
  return { epoch, seq: Number(seq) };
}

/** Compared with the events after a position. */
export interface Head {
  seq: number;
  /** Unknown in release 0.2. */
  epoch: string | undefined;
  /** Maximum number of events that are sent again. */
  maxEvents: number;
}

/** Why the events after a position cannot be sent; undefined if they can. */
export function obstacleOf(since: Since, head: Head): 'diverged' | 'too_far' | undefined {
  const isOtherEpoch = since.epoch !== undefined && head.epoch !== undefined && since.epoch !== head.epoch;
  if (isOtherEpoch || since.seq > head.seq) return 'diverged';
  return head.seq - since.seq > head.maxEvents ? 'too_far' : undefined;
}
