import type { SentCall } from '../receipts/receipts.store.js';
import { oneLine } from '../../records/one-line.js';

const HEAD =
  'Recorded by the platform, not written by the user: calls that agents have already sent to other apps in this conversation. ' +
  'Do not repeat one unless the user asks for it after this.';
const MAX_BYTES = 4 * 1024;

/** Without an outcome, the call's turn disappeared: turns in a conversation do not run at the same time. */
const lineOf = ({ sentAt, tool, arguments: input, status }: SentCall): string =>
  `- ${sentAt.toISOString()} ${oneLine(`${tool} ${input}`)}: ${status === 'sent' ? 'unknown' : status}`;

/** The newest calls that fit, oldest first. Empty if there are none. Pure. */
export function describeSentCalls(newestFirst: readonly SentCall[]): string {
  const lines: string[] = [];
  let bytes = Buffer.byteLength(HEAD);
  for (const line of newestFirst.map(lineOf)) {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_BYTES) break;
    lines.unshift(line);
  }
  return lines.length === 0 ? '' : [HEAD, ...lines].join('\n');
}
