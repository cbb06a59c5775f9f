import type { UnresponsiveEngine } from './outcome.js';

const SUSPENDED = 'Suspended';
const UNREACHABLE = 'the connection failed';

/** Explains the reasons that name a library or an exception. SearXNG's other reasons are clear already. */
const REASONS: Record<string, string> = {
  'HTTP connection error': UNREACHABLE,
  'network error': UNREACHABLE,
  'HTTP protocol error': 'the connection broke',
  'HTTP error': 'it answered with an error',
  'server API error': 'it answered with an error',
  'parsing error': 'it sent a page that SearXNG cannot read',
  'unexpected crash': 'SearXNG could not read its answer',
  'proxy error': 'the proxy failed',
  'SSL error: certificate validation has failed': 'its certificate is not trusted',
  CAPTCHA: 'it asks for a CAPTCHA',
  'access denied': 'it refuses access',
  '': 'no reason given',
};

/** Names each engine that did not answer, and its reason. */
export function failureNotes(engines: readonly UnresponsiveEngine[], hasRows: boolean): string[] {
  if (engines.length === 0) return [];
  const reasons = Map.groupBy(engines, ({ reason }) => inWords(reason));
  const names = [...reasons]
    .map(([reason, failed]) => `${failed.map(({ engine }) => engine).join(', ')} (${reason})`)
    .join('; ');
  if (hasRows) return [`Not every search engine answered: ${names}.`];
  const isOffline = engines.every(({ reason }) => inWords(reason).endsWith(UNREACHABLE));
  const hint = isOffline ? ' SearXNG seems to have no access to the internet.' : '';
  return [`Inconclusive: search engines did not answer: ${names}. This does not mean that nothing exists.${hint}`];
}

/** SearXNG does not ask an engine for a while after failures. */
function inWords(reason: string): string {
  const [state, ...earlier] = reason.split(': ');
  if (state !== SUSPENDED || earlier.length === 0) return REASONS[reason] ?? reason;
  return `paused after failures; the last: ${inWords(earlier.join(': '))}`;
}
