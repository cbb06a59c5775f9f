import type { IncomingHttpHeaders } from 'node:http';
import { WEBHOOK_REVISION_HEADER, WEBHOOK_STARTED_HEADER } from '@uswarm/contract/userswarm';

/** Which configuration and program of the webhook answered, and when that process started. */
export interface WebhookVersion {
  revision: string;
  /** Milliseconds since the epoch, by the clock of its node. */
  startedMs: number;
}

export interface RevisionPin {
  /** Whether an answer of this version may be used. If not, the newest one is to be asked again. */
  accepts(version: WebhookVersion): boolean;
}

export interface RevisionPinOptions {
  /** Milliseconds without an answer of the newest revision, while older ones answer, after which an older one is used. */
  goneAfterMs?: number;
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
}

/** Long enough to find one pod among several, short enough for a rollback. */
const GONE_AFTER_MS = 5_000;

/**
 * Follows the newest revision of the webhook while replicas of several revisions answer, so that a UserSwarm never
 * alternates between two renderings. The newest is the one whose process started last.
 */
export function createRevisionPin(options: RevisionPinOptions = {}): RevisionPin {
  const { goneAfterMs = GONE_AFTER_MS, now = () => performance.now() } = options;
  let newest: WebhookVersion | undefined;
  /** When an older revision answered first since the newest one answered last, and the newest of those that did. */
  let missed: { since: number; best: WebhookVersion } | undefined;
  const use = (version: WebhookVersion): true => {
    newest = version;
    missed = undefined;
    return true;
  };
  return {
    accepts(version) {
      if (newest === undefined || isNewer(version, newest)) return use(version);
      if (version.revision === newest.revision) return use(newest);
      const { since, best } = missed ?? { since: now(), best: version };
      missed = { since, best: isNewer(version, best) ? version : best };
      if (now() - since < goneAfterMs) return false;
      if (missed.best.revision === version.revision) return use(version);
      newest = missed.best;
      missed = { since: now(), best: version };
      return false;
    },
  };
}

const isNewer = (version: WebhookVersion, than: WebhookVersion): boolean =>
  version.startedMs > than.startedMs || (version.startedMs === than.startedMs && version.revision > than.revision);

/** A webhook that names no revision, as one of release 0.2, is older than any that does. */
export function versionOf(headers: IncomingHttpHeaders): WebhookVersion {
  const revision = textOf(headers[WEBHOOK_REVISION_HEADER]);
  const startedMs = Date.parse(textOf(headers[WEBHOOK_STARTED_HEADER]));
  return revision === '' || Number.isNaN(startedMs) ? { revision: '', startedMs: -Infinity } : { revision, startedMs };
}

const textOf = (header: string | string[] | undefined): string => (Array.isArray(header) ? header[0] : header) ?? '';
