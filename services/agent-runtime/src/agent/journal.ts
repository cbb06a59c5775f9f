import { type Entry, EntryKind, type RunTurnRequest } from '@uswarm/runtime-proto';
import { entryEvent } from '../turns/turn-events.js';
import type { ReplyWriter } from './reply-writer.js';
import {
  afterResult,
  afterStep,
  INITIAL_STATE,
  type ResultEntry,
  type StepEntry,
  type TurnState,
} from './turn-state.js';

/** Bytes of the body of an entry, as in the protocol. */
export const MAX_ENTRY_BYTES = 128 * 1024;
/** Bytes of the bodies of all entries, as in the protocol. */
export const MAX_JOURNAL_BYTES = 2 * 1024 * 1024;

const NO_IMAGE = '[The image is no longer available. Call the tool again if you still need it.]';

/** Computes the state after further entries of a journal. @throws SyntaxError, TypeError for entries of an unknown format */
export function foldJournal(entries: readonly Pick<Entry, 'kind' | 'body'>[], before = INITIAL_STATE): TurnState {
  return entries.reduce((state, { kind, body }) => {
    switch (kind) {
      case EntryKind.STEP:
        return afterStep(state, JSON.parse(body) as StepEntry);
      case EntryKind.RESULT:
        return afterResult(state, JSON.parse(body) as ResultEntry);
      default:
        throw new TypeError(`the journal has an entry of unknown kind ${kind}`);
    }
  }, before);
}

/** The state after the journal of a request. Its text is only what the current reply shows. */
export function stateOf({ journal, shownEntries }: Pick<RunTurnRequest, 'journal' | 'shownEntries'>): TurnState {
  const shown = foldJournal(journal.slice(0, shownEntries));
  return foldJournal(journal.slice(shownEntries), { ...shown, text: '' });
}

/** Images are too large for the journal. */
function withoutImages(result: ResultEntry): ResultEntry {
  const { output } = result.part;
  if (output.type !== 'content') return result;
  const value = output.value.map((part) => (part.type === 'text' ? part : { type: 'text' as const, text: NO_IMAGE }));
  return { ...result, part: { ...result.part, output: { ...output, value } } };
}

/** Sends the entries of a turn to the orchestrator. */
export interface Journal {
  /** Whether later entries are not stored. */
  readonly ended: boolean;
  /** Resolves when the entry is committed if the step has tool calls, which run next. */
  step(step: StepEntry): Promise<void>;
  /** Resolves when the entry is committed if it is the last result of the step. */
  result(result: ResultEntry, isLast: boolean): Promise<void>;
}

export interface JournalDeps {
  writer: Pick<ReplyWriter, 'event'>;
  /** Resolves when all events so far are committed. */
  committed: () => Promise<void>;
}

/** The journal ends before an entry that exceeds a limit. The turn continues, and could be resumed before that entry. */
export function createJournal(
  { journaled, journal }: Pick<RunTurnRequest, 'journaled' | 'journal'>,
  { writer, committed }: JournalDeps,
): Journal {
  let number = journal.length;
  let bytes = journal.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  let ended = !journaled;

  async function add(kind: EntryKind, entry: StepEntry | ResultEntry, barrier: boolean): Promise<void> {
    if (ended) return;
    const body = JSON.stringify(entry);
    const size = Buffer.byteLength(body);
    ended = size > MAX_ENTRY_BYTES || bytes + size > MAX_JOURNAL_BYTES;
    if (ended) return;
    bytes += size;
    number += 1;
    writer.event(entryEvent({ number, kind, body }), barrier);
    if (barrier) await committed();
  }

  return {
    get ended() {
      return ended;
    },
    step: (step) => add(EntryKind.STEP, step, step.calls.length > 0),
    result: (result, isLast) => add(EntryKind.RESULT, withoutImages(result), isLast),
  };
}
