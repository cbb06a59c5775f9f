import { createHmac } from 'node:crypto';
import type { Logger } from './logger.js';

/** A rejected request or connection, as it is logged. */
export interface Refusal {
  /** The rejected item, such as `credential`. */
  what: string;
  /** The error code. */
  outcome: string;
  /** The interface: `rest` or `socket`. */
  via?: string | undefined;
  /** Keyed identity hash; absent if the credential does not prove an identity. */
  identity?: string | undefined;
  /** The client address, as returned by `createSourceName`. */
  source?: string | undefined;
}

export interface SecurityLog {
  /** Logs the first refusal of a kind immediately, and the number of repetitions when the window ends. */
  refused(refusal: Refusal): void;
  /** Logs the pending counts. */
  close(): void;
}

export interface SecurityLogOptions {
  logger: Pick<Logger, 'warn'>;
  /** Window length in milliseconds. */
  windowMs?: number;
  /** Number of distinct refusals that are logged per window; further ones are only counted. */
  kinds?: number;
  /** Calls `run` once after `ms`. @returns a function that cancels the call */
  after?: (ms: number, run: () => void) => () => void;
}

const WINDOW_MS = 60_000;
const KINDS = 100;

function unrefTimeout(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}

/** Logs refusals with level `warn`, up to `2 * kinds + 1` lines per window. */
export function createSecurityLog(options: SecurityLogOptions): SecurityLog {
  const { logger, windowMs = WINDOW_MS, kinds = KINDS, after = unrefTimeout } = options;
  let seen = new Map<string, { refusal: Refusal; repeated: number }>();
  let others = 0;
  let cancel: (() => void) | undefined;

  function flush(): void {
    cancel?.();
    cancel = undefined;
    for (const { refusal, repeated } of seen.values()) {
      if (repeated > 0) logger.warn({ ...refusal, repeated }, 'refused repeatedly');
    }
    if (others > 0) logger.warn({ repeated: others }, 'further refusals, too many distinct ones to list');
    seen = new Map();
    others = 0;
  }

  return {
    refused(refusal) {
      cancel ??= after(windowMs, flush);
      const key = JSON.stringify([refusal.what, refusal.outcome, refusal.via, refusal.identity, refusal.source]);
      const known = seen.get(key);
      if (known !== undefined) known.repeated += 1;
      else if (seen.size >= kinds) others += 1;
      else {
        seen.set(key, { refusal, repeated: 0 });
        logger.warn(refusal, 'refused');
      }
    },
    close: flush,
  };
}

/** How logs show client addresses: as a keyed hash, so that lines can be correlated, or unchanged. */
export const SOURCE_ADDRESSES = ['hash', 'plain'] as const;
export type SourceAddresses = (typeof SOURCE_ADDRESSES)[number];

/** Number of cached address hashes. */
const KNOWN_ADDRESSES = 1_000;

/**
 * @param secret a secret that all services share, so that they log the same hash
 * @returns a function that maps an address to its logged name
 */
export function createSourceName(secret: string, addresses: SourceAddresses): (address: string) => string {
  if (addresses === 'plain') return (address) => address;
  const key = createHmac('sha256', secret).update('source addresses in logs').digest();
  const known = new Map<string, string>();
  return (address) => {
    const cached = known.get(address);
    if (cached !== undefined) return cached;
    const name = createHmac('sha256', key).update(address).digest('hex').slice(0, 16);
    if (known.size >= KNOWN_ADDRESSES) known.clear();
    known.set(address, name);
    return name;
  };
}
