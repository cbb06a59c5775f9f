import type { IncomingHttpHeaders } from 'node:http';
import { WEBHOOK_REVISION_HEADER, WEBHOOK_STARTED_HEADER } from '@uswarm/contract/userswarm';

/** Revision of the webhook (configuration and program) that responded, and its process' start time. */
export interface WebhookVersion {
  revision: string;
  /** Milliseconds since the epoch by the clock of its node. */
  startedMs: number;
}

export interface RevisionPin {
  /** True if a response with this version may be used. If not, the newest version must be called again. */
  accepts(version: WebhookVersion): boolean;
}

export interface RevisionPinOptions {
  /** Milliseconds without a response from the newest revision after which older responses are used. */
  goneAfterMs?: number;
  /** Milliseconds on a monotonic clock. */
  now?: () => number;
}

/** Long enough to find one pod among several, short enough for a rollback. In milliseconds. */
const GONE_AFTER_MS = 5_000;

/**
 * Pins the newest webhook revision while replicas of several revisions respond, so that a UserSwarm does not alternate
 * between two renderings. The newest revision is the one whose process started last.
 */
export function createRevisionPin(options: RevisionPinOptions = {}): RevisionPin {
  const { goneAfterMs = GONE_AFTER_MS, now = () => performance.now() } = options;
  let newest: WebhookVersion | undefined;
  /** The first response from an older revision since the newest revision's last one, and the newest of these. */
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

/** A webhook without a revision header (release 0.2) is older than any with one. */
export function versionOf(headers: IncomingHttpHeaders): WebhookVersion {
  const revision = textOf(headers[WEBHOOK_REVISION_HEADER]);
  const startedMs = Date.parse(textOf(headers[WEBHOOK_STARTED_HEADER]));
  return revision === '' || Number.isNaN(startedMs) ? { revision: '', startedMs: -Infinity } : { revision, startedMs };
}

const textOf = (header: string | string[] | undefined): string => (Array.isArray(header) ? header[0] : header) ?? '';
