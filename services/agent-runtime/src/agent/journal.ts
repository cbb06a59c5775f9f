import {
  type CallRecord,
  type Entry,
  EntryKind,
  type Message,
  type RunTurnRequest,
  type Tool,
  type Usage,
} from '@uswarm/runtime-proto';
import { JOURNAL_IMAGES, MAX_TURN_IMAGE_BYTES } from '@uswarm/service-kit';
import { entryEvent, messageEvent, toolEvent, usageEvent } from '../turns/turn-events.js';
import type { ReplyWriter } from './reply-writer.js';
import type { SteeringPrompts } from './steering.js';
import {
  afterResult,
  afterSteering,
  afterStep,
  INITIAL_STATE,
  type ResultEntry,
  type SteeringEntry,
  type StepEntry,
  type TurnState,
} from './turn-state.js';

/** For orchestrators without other limits. */
const SMALL = { entryBytes: 128 * 1024, journalBytes: 2 * 1024 * 1024 };

const NO_IMAGE = '[The image is no longer available. Call the tool again if you still need it.]';

/** Computes the state after further journal entries. @throws SyntaxError, TypeError for entries in an unknown format */
export function foldJournal(
  entries: readonly Pick<Entry, 'kind' | 'body'>[],
  prompts: SteeringPrompts,
  before = INITIAL_STATE,
): TurnState {
  return entries.reduce((state, { kind, body }) => {
    switch (kind) {
      case EntryKind.STEP:
        return afterStep(state, JSON.parse(body) as StepEntry);
      case EntryKind.RESULT:
        return afterResult(state, JSON.parse(body) as ResultEntry);
      case EntryKind.STEERING:
        return afterSteering(state, JSON.parse(body) as SteeringEntry, prompts);
      default:
        throw new TypeError(`the journal has an entry of unknown kind ${kind}`);
    }
  }, before);
}

/** The state after a request's journal. Its text is only what the current reply shows. */
export function stateOf(
  { journal, shownEntries }: Pick<RunTurnRequest, 'journal' | 'shownEntries'>,
  prompts: SteeringPrompts,
): TurnState {
  const shown = foldJournal(journal.slice(0, shownEntries), prompts);
  return foldJournal(journal.slice(shownEntries), prompts, { ...shown, text: '' });
}

function withoutImages(result: ResultEntry): ResultEntry {
  const { output } = result.part;
  if (output.type !== 'content') return result;
  const value = output.value.map((part) => (part.type === 'text' ? part : { type: 'text' as const, text: NO_IMAGE }));
  return { ...result, part: { ...result.part, output: { ...output, value } } };
}

const bytesOf = (body: string): number => Buffer.byteLength(body);

/** Output of an entry. The orchestrator commits it with the entry. */
export interface Produced {
  usage?: Usage | undefined;
  tool?: Tool | undefined;
  message?: Message | undefined;
  call?: CallRecord | undefined;
  steeredBy?: string[];
}

/** Sends journal entries to the orchestrator. */
export interface Journal {
  /** True if later entries are not stored. */
  readonly ended: boolean;
  /**
   * The result for later model calls: without its images if they are too large for the journal, or for a model request.
   */
  kept(result: ResultEntry): ResultEntry;
  /**
   * Resolves when the entry is committed if the step has tool calls, which run next, unless all of them are announced: the
   * announcements are committed after the entry.
   */
  step(step: StepEntry, more: { usage: Usage | undefined; isAnnounced: boolean }): Promise<void>;
  /**
   * Resolves when the entry is committed if it is the step's last result, unless the next model call is announced: the
   * announcement is committed after the entry.
   */
  result(result: ResultEntry, more: { isLast: boolean; produced: Produced }): Promise<void>;
  /** Resolves when the entry is committed: the messages then need no separate answer. */
  steering(steering: SteeringEntry): Promise<void>;
}

export interface JournalDeps {
  writer: Pick<ReplyWriter, 'event'>;
  /** Resolves when all events so far are committed. */
  committed: () => Promise<void>;
  /** True if model calls are announced. */
  announced: boolean;
}

/** The journal ends before an entry that exceeds a limit. The turn continues, and could be resumed before that entry. */
export function createJournal(
  request: Pick<RunTurnRequest, 'journaled' | 'journal' | 'journalLimits'>,
  { writer, committed, announced }: JournalDeps,
): Journal {
  const { journaled, journal, journalLimits } = request;
  const limits = journalLimits ?? SMALL;
  const imageBytes = journaled
    ? Math.min(limits.journalBytes * JOURNAL_IMAGES, MAX_TURN_IMAGE_BYTES)
    : MAX_TURN_IMAGE_BYTES;
  let number = journal.length;
  let bytes = journal.reduce((sum, { body }) => sum + bytesOf(body), 0);
  let ended = !journaled;

  /** For entries that are not stored, and for orchestrators that commit it separately. */
  function report({ usage, tool, message }: Produced): void {
    if (usage !== undefined) writer.event(usageEvent(usage));
    if (tool !== undefined) writer.event(toolEvent(tool));
    if (message !== undefined) writer.event(messageEvent(message));
  }

  async function add(
    kind: EntryKind,
    entry: StepEntry | ResultEntry | SteeringEntry,
    barrier: boolean,
    produced: Produced,
  ) {
    const body = ended ? '' : JSON.stringify(entry);
    const size = bytesOf(body);
    ended ||= size > limits.entryBytes || bytes + size > limits.journalBytes;
    if (ended || journalLimits === undefined) report(produced);
    if (ended) return;
    bytes += size;
    number += 1;
    writer.event(entryEvent({ number, kind, body, ...(journalLimits === undefined ? {} : produced) }), barrier);
    if (barrier) await committed();
  }

  function kept(result: ResultEntry): ResultEntry {
    if (result.part.output.type !== 'content') return result;
    const size = bytesOf(JSON.stringify(result));
    if ((!ended && size > limits.entryBytes) || bytes + size > imageBytes) return withoutImages(result);
    // An entry that is stored is counted when it is added.
    if (ended) bytes += size;
    return result;
  }

  return {
    get ended() {
      return ended;
    },
    kept,
    step: (step, { usage, isAnnounced }) => add(EntryKind.STEP, step, step.calls.length > 0 && !isAnnounced, { usage }),
    result: (result, { isLast, produced }) => add(EntryKind.RESULT, result, isLast && !announced, produced),
    steering: (steering) => add(EntryKind.STEERING, steering, true, { steeredBy: [...steering.messageIds] }),
  };
}
