import { age, plain } from '../show.js';
import type { Chain, Link } from './chain.js';

/** Renders the chain as text for one screen, without control characters. */
export function showChain({ name, phase, reason, since_s, healthy, chain, next, unreadable }: Chain): string {
  const since = since_s === null ? '' : `, for ${age(since_s)}`;
  const state = `${name} is ${phase}${reason === null ? '' : ` (${plain(reason)})`}${since}`;
  if (healthy) return `${state}.\nnext: ${next.action}`;
  const blind = unreadable.map(({ what, why }) => `not read   ${what}: ${plain(why)}`);
  const runbook = next.runbook === null ? '' : ` Runbook: ${next.runbook}`;
  return [`${state}.`, '', ...chain.map(linkText), ...blind, '', `next: ${plain(next.action)}${runbook}`].join('\n');
}

function linkText({ kind, about, reason, message, age_s }: Link): string {
  const ago = kind === 'event' && age_s !== null ? `, ${age(age_s)} ago` : '';
  const head = `${kind.padEnd(11)}${plain(about)}${ago}`;
  const named = reason === null || message.includes(reason) ? message : `${reason}: ${message}`;
  // A message may have several lines, and each stays below its object.
  const body = named
    .trim()
    .split(/\s*\n\s*/)
    .map((line) => `${' '.repeat(11)}${plain(line)}`);
  return [head, ...body].join('\n');
}
