import type { Logger } from '@uswarm/service-kit';
import { isBlank } from '../../records/visible-text.js';
import type { Progress, ReplyTexts } from './turn-progress.store.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';

const SAVE_EVERY_MS = 12_000;
/**
 * All turns of a process save at multiples of this time, so that they share a statement. The statement also reads whether a stop was
 * requested, so a save after at most `SAVE_EVERY_MS + SHARED_EVERY_MS` replaces a poll for it.
 */
const SHARED_EVERY_MS = 2_000;
/** Between two times at which the text is saved for devices. */
const SAVE_SOON_MS = 1_000;
/** Long texts, which are saved whole, skip one time for each of these characters. */
const SKIP_CHARACTERS = 32_768;

/** Milliseconds until a text of this length is saved. */
function untilSaveMs(length: number): number {
  const now = performance.now();
  const dueAt = now + SAVE_EVERY_MS * (1 + Math.floor(length / SKIP_CHARACTERS));
  return Math.ceil(dueAt / SHARED_EVERY_MS) * SHARED_EVERY_MS - now;
}

export interface ReplyProgressDeps {
  turn: Pick<TurnRow, 'id'>;
  writer: Pick<TurnWriter, 'track' | 'saveProgress'>;
  logger: Pick<Logger, 'warn'>;
}

/** What a reply knows. */
export interface ReplyState {
  texts(): ReplyTexts;
  state(): Pick<Progress, 'generation' | 'chunkSeq'>;
  /** @param completes whether the effects of the current event are complete */
  announcedStep(completes: boolean): number;
  /** The number of the event that is applied, or of the last one. */
  event(): number;
  firstUnacknowledged(): number | undefined;
}

/** Saves how far a reply is, so that another process can continue it. */
export interface ReplyProgress {
  /** A generation begins after this event. */
  begin(event: number): void;
  /** The effects of the current event are complete. */
  applied(): void;
  /** The text has changed. It is saved soon, or with the next event that is stored. */
  changed(): void;
  /** As `changed`, but the text is saved immediately unless it was saved a moment ago. */
  saveSoon(): void;
  /** Saves nothing more. */
  end(): void;
}

export function createReplyProgress({ turn, writer, logger }: ReplyProgressDeps, reply: ReplyState): ReplyProgress {
  let applied = 0;
  const versions = { text: 0, saved: -1 };
  let timer: NodeJS.Timeout | undefined;
  let savedAt = -Infinity;

  writer.track({
    current(completes) {
      const appliedEvent = completes ? reply.event() : applied;
      if (appliedEvent === 0) return undefined;
      const resumeFrom = Math.min(appliedEvent, (reply.firstUnacknowledged() ?? Infinity) - 1);
      const texts = versions.text === versions.saved ? undefined : reply.texts();
      const announcedStep = reply.announcedStep(completes);
      const progress = { ...reply.state(), announcedStep, appliedEvent, resumeFrom };
      return { progress, texts, version: versions.text };
    },
    saved: (version) => void (versions.saved = version),
    isEmpty: () => isBlank(reply.texts().received),
  });

  function save(): void {
    timer = undefined;
    savedAt = performance.now();
    writer
      .saveProgress()
      .catch((error: unknown) => logger.warn({ err: error, turn: turn.id }, 'the text of a turn was not saved'));
  }

  return {
    begin(event) {
      applied = event;
      versions.saved = -1;
    },
    applied: () => void (applied = reply.event()),
    changed() {
      versions.text += 1;
      timer ??= setTimeout(save, untilSaveMs(reply.texts().received.length));
    },
    saveSoon() {
      // Nothing waits.
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = setTimeout(save, Math.max(0, savedAt + SAVE_SOON_MS - performance.now()));
    },
    end() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
