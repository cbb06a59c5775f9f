import { createHmac } from 'node:crypto';
import type { Logger } from './logger.js';

/** Something that was refused, in words of the log. */
export interface Refusal {
  /** What was refused, such as `credential`. */
  what: string;
  /** Why: an error code. */
  outcome: string;
  /** How it came: `rest` or `socket`. */
  via?: string | undefined;
  /** Keyed hash of the identity; absent if the credential does not prove one. */
  identity?: string | undefined;
  /** The address, as `createSourceName` names it. */
  source?: string | undefined;
}

export interface SecurityLog {
  /** Logs the first refusal of its kind immediately, and how often it was repeated once the window has passed. */
  refused(refusal: Refusal): void;
  /** Logs what is counted and not logged yet. */
  close(): void;
}

export interface SecurityLogOptions {
  logger: Pick<Logger, 'warn'>;
  /** Milliseconds over which repetitions are counted. */
  windowMs?: number;
  /** Different refusals that a window tells apart; more are only counted, so a flood does not flood the log. */
  kinds?: number;
  /** Calls back once after that many milliseconds. @returns cancels it */
  after?: (ms: number, run: () => void) => () => void;
}

const WINDOW_MS = 60_000;
const KINDS = 100;

function unrefTimeout(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
}

/** Lines of level `warn` for refusals, at most `2 * kinds + 1` in a window. */
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
    if (others > 0) logger.warn({ repeated: others }, 'other refusals, too many different ones to list');
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

/** How logs name client addresses: by a keyed hash, so that lines can be compared, or as they are. */
export const SOURCE_ADDRESSES = ['hash', 'plain'] as const;
export type SourceAddresses = (typeof SOURCE_ADDRESSES)[number];

/** Addresses whose hash is kept: a client calls more than once, and each request is logged with its source. */
const KNOWN_ADDRESSES = 1_000;

/**
 * @param secret a secret that all services share; the hash is the same in all of them
 * @returns names an address
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
