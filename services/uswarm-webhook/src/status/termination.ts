import { STARTUP_PROBE_S } from '../observed/runtime-container.js';
import type { Terminated } from '../observed/observed.js';
import { shortened } from './shortened.js';

/** Exit code for SIGABRT: Node.js with a full heap. */
export const SIGABRT_EXIT = 134;
/** Exit codes for SIGKILL and SIGTERM, which the kubelet sends after a failed probe. */
const KILLED: ReadonlySet<number | undefined> = new Set([137, 143]);
const MAX_EXCERPT = 200;

/**
 * True if the kubelet stopped the container because its startup probe never passed: it was killed after the probe time
 * and the pod was not ready in between.
 *
 * @param unreadySince when the pod's condition `Ready` became False
 */
export function failedStartupProbe(end: Terminated, unreadySince: string | undefined): boolean {
  const { exitCode, reason, startedAt = '', finishedAt = '' } = end;
  if (!KILLED.has(exitCode) || reason === 'OOMKilled' || unreadySince === undefined) return false;
  const ranMs = Date.parse(finishedAt) - Date.parse(startedAt);
  // Timestamps have whole seconds.
  return ranMs >= (STARTUP_PROBE_S - 1) * 1_000 && unreadySince <= startedAt;
}

/** Describes a container's last termination, with the cause from its log if found. */
export function terminationSummary({ exitCode, message }: Terminated): string {
  if (exitCode === undefined) return 'cannot be started';
  const cause = lastErrorMessage(message ?? '');
  return `keeps stopping, last with exit code ${exitCode}${cause === undefined ? '' : `: ${cause}`}`;
}

/**
 * The cause from the end of a container's log, at most 200 characters. Only a fatal log record's message and the first
 * line of an uncaught error are used. Text that looks like a credential is removed.
 */
export function lastErrorMessage(log: string): string | undefined {
  const lines = log.split('\n').toReversed();
  const found = lines.map((line) => recordText(line) ?? uncaughtError(line)).find((text) => text !== undefined);
  if (found === undefined || found === '') return undefined;
  return shortened(withoutSecrets(found).replaceAll(/\s+/g, ' ').trim(), MAX_EXCERPT);
}

const uncaughtError = (line: string): string | undefined => /^(?:[A-Z]\w*)?Error(?: \[\w+\])?: .+/.exec(line)?.[0];

function recordText(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level, msg, err } = JSON.parse(line) as { level?: unknown; msg?: unknown; err?: { message?: unknown } };
    const isFatal = level === 'fatal' || level === 60;
    const texts = [msg, err?.message].filter((text) => typeof text === 'string');
    return isFatal && texts.length > 0 ? [...new Set(texts)].join(': ') : undefined;
  } catch {
    // A truncated record.
    return undefined;
  }
}

/** Secret setting values, credentials in URLs, and long random strings. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/\/\/[^\s/@]+@/g, '//…@')
    .replaceAll(/\b(bearer|basic)\s+\S+/gi, '$1 …')
    .replaceAll(/(\w*(?:secret|password|token|key|authorization)\w*["']?\s*[=:]\s*)\S+/gi, '$1…')
    .replaceAll(/[\w+/=.~-]{32,}/g, '…');
