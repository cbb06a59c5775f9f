import { LIMITS } from '@uswarm/contract';
import { parseJson, untrustedText } from '@uswarm/service-kit';
import { z } from 'zod';
import { oneLine } from '../../records/one-line.js';
import { visibleText } from '../../records/visible-text.js';
import type { JournalEntry } from '../journal/journal.store.js';

/** A text that may be cut. */
export interface Beginning {
  text: string;
  truncated: boolean;
}

export interface JournalCall {
  id: string;
  tool: string;
  /** JSON; undefined if the model wrote none. */
  arguments: Beginning | undefined;
}

/** The part of an entry that users see. */
export type JournalPart = { number: number; at: Date } & (
  | { kind: 'step'; text: string; calls: JournalCall[] }
  | { kind: 'result'; callId: string; failed: boolean; text: Beginning }
);

/** `body` is undefined if it cannot be read. */
export type ReadEntry = Pick<JournalEntry, 'number' | 'kind'> & { at: Date; body: string | undefined };

const MAX_TOOL_NAME = 100;

export function beginningOf(text: string): Beginning {
  const visible = visibleText(text);
  const truncated = visible.length > LIMITS.stepText;
  return { text: truncated ? visible.slice(0, LIMITS.stepText).toWellFormed() : visible, truncated };
}

// Fields from the runtime's `StepEntry` and `ResultEntry` that users see. Thoughts are not among them.
const Call = z.object({ id: z.string(), name: z.string(), input: z.unknown() });
const StepBody = z.object({ text: z.string().catch(''), calls: z.array(z.unknown()).catch([]) });
const TextPart = z.object({ type: z.literal('text'), text: z.string() });
const Output = z.object({ type: z.string(), value: z.union([z.string(), z.array(z.unknown())]) });
const ResultBody = z.object({ callId: z.string(), part: z.object({ output: Output }) });

const IMAGE = '[image]';

const textOf = ({ value }: z.output<typeof Output>): string =>
  typeof value === 'string'
    ? untrustedText(value)
    : value
        .map((part) => (TextPart.safeParse(part).success ? untrustedText(TextPart.parse(part).text) : IMAGE))
        .join('\n');

function callsOf(calls: readonly unknown[]): JournalCall[] {
  return calls.flatMap((value) => {
    const { data } = Call.safeParse(value);
    if (data === undefined) return [];
    const json = data.input === undefined ? undefined : beginningOf(JSON.stringify(data.input));
    return [{ id: data.id, tool: oneLine(data.name).slice(0, MAX_TOOL_NAME).toWellFormed(), arguments: json }];
  });
}

/** Pure. @returns undefined if the body is missing or has another format */
export function journalPart({ number, kind, at, body }: ReadEntry): JournalPart | undefined {
  const value = body === undefined ? undefined : parseJson(body);
  if (kind === 'step') {
    const { data } = StepBody.safeParse(value);
    return data && { number, at, kind, text: data.text, calls: callsOf(data.calls) };
  }
  // The conversation shows messages that steer a turn.
  const data = kind === 'result' ? ResultBody.safeParse(value).data : undefined;
  if (data === undefined) return undefined;
  const { output } = data.part;
  return {
    number,
    at,
    kind: 'result',
    callId: data.callId,
    failed: output.type === 'error-text',
    text: beginningOf(textOf(output)),
  };
}
