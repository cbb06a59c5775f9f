import { STARTUP_PROBE_S } from '../render/deployment.js';
import type { Terminated } from './observed.js';

/** SIGABRT: how Node.js ends when its heap is full. */
export const ABORTED = 134;
/** SIGKILL and SIGTERM: how a kubelet ends a container whose probe fails. */
const KILLED: ReadonlySet<number | undefined> = new Set([137, 143]);
const MAX_EXCERPT = 200;

/**
 * Whether a kubelet stopped the container because it never passed its startup probe: it was killed after the probe's
 * time, and the pod did not become ready meanwhile.
 *
 * @param unreadySince when the pod's condition `Ready` became False
 */
export function failedStartupProbe(end: Terminated, unreadySince: string | undefined): boolean {
  const { exitCode, reason, startedAt = '', finishedAt = '' } = end;
  if (!KILLED.has(exitCode) || reason === 'OOMKilled' || unreadySince === undefined) return false;
  const ranMs = Date.parse(finishedAt) - Date.parse(startedAt);
  // Times are in whole seconds.
  return ranMs >= (STARTUP_PROBE_S - 1) * 1_000 && unreadySince <= startedAt;
}

/** How a container that does not stay up last ended; with what it said last, if that is worth showing. */
export function howItEnds({ exitCode, message }: Terminated): string {
  if (exitCode === undefined) return 'cannot be started';
  const said = lastWords(message ?? '');
  return `keeps stopping, last with exit code ${exitCode}${said === undefined ? '' : `: ${said}`}`;
}

/**
 * The cause in the end of a container's log, at most 200 characters. Only the text of a fatal record of our
 * logger and the first line of an uncaught error are used; what looks like a credential is left out.
 */
export function lastWords(log: string): string | undefined {
  const lines = log.split('\n').toReversed();
  const found = lines.map((line) => recordText(line) ?? uncaughtError(line)).find((text) => text !== undefined);
  if (found === undefined || found === '') return undefined;
  const text = withoutSecrets(found).replaceAll(/\s+/g, ' ').trim();
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT - 1)}…` : text;
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
    // A record that was cut off.
    return undefined;
  }
}

/** Values of settings that are named like secrets, credentials in URLs, and long random strings. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/\/\/[^\s/@]+@/g, '//…@')
    .replaceAll(/\b(bearer|basic)\s+\S+/gi, '$1 …')
    .replaceAll(/(\w*(?:secret|password|token|key|authorization)\w*["']?\s*[=:]\s*)\S+/gi, '$1…')
    .replaceAll(/[\w+/=.~-]{32,}/g, '…');
