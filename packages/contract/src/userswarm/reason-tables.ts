import { type Advice, type Reason, REASON_ADVICE } from './advice.js';
import { FAILURE_REASONS } from './conditions.js';

/** Repository path of the document with the reason tables. */
export const REASONS_DOCUMENT = 'docs/userswarm.md';

/** Phases for reasons that are not in FAILURE_REASONS. Reasons without a phase appear only in `Synced`. */
const OTHER_PHASES: Readonly<Partial<Record<Reason, readonly string[]>>> = {
  Available: ['Ready'],
  Unreachable: ['Ready'],
  Suspended: ['Suspended'],
  Deleting: ['Deleting'],
  Starting: ['Progressing'],
  Queued: ['Progressing'],
  WebhookUnavailable: ['Progressing', 'Deleting'],
  WebhookInvalid: ['Progressing', 'Deleting'],
};

const phasesOf = (reason: Reason): readonly string[] =>
  reason in FAILURE_REASONS ? [FAILURE_REASONS[reason as keyof typeof FAILURE_REASONS]] : (OTHER_PHASES[reason] ?? []);

const code = (text: string): string => `\`${text}\``;

/** Replaces both reason tables in the document's text. @throws Error if the text has no such table */
export function withReasonTables(text: string): string {
  const entries = Object.entries(REASON_ADVICE) as [Reason, Advice][];
  const ofReady = entries.filter(([reason]) => phasesOf(reason).length > 0);
  const ofSynced = entries.filter(([reason]) => phasesOf(reason).length === 0);
  const ready = table(
    ['reason', 'phase', 'cause', 'what to do'],
    ofReady.map(([reason, { cause, advice }]) => [code(reason), phasesOf(reason).map(code).join(', '), cause, advice]),
  );
  const synced = table(
    ['reason', 'cause', 'what to do'],
    ofSynced.map(([reason, { cause, advice }]) => [code(reason), cause, advice]),
  );
  return replace(
    replace(text, /^\| reason +\| phase .*\n(?:\|.*\n)+/m, ready),
    /^\| reason +\| cause .*\n(?:\|.*\n)+/m,
    synced,
  );
}

function replace(text: string, pattern: RegExp, by: string): string {
  if (!pattern.test(text)) throw new Error(`${REASONS_DOCUMENT} has no table ${pattern.source}`);
  return text.replace(pattern, () => by);
}

/** A Markdown table with aligned columns, as the formatter writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_title, at) => Math.max(...[head, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`;
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('');
}
