import { AgentActivity } from '@uswarm/runtime-proto';
import type { Logger } from '@uswarm/service-kit';
import type { AgentActivity as StoredActivity } from '../../platform/database/schema.js';
import { isBlank } from '../../records/visible-text.js';
import type { TurnRow } from '../turns.store.js';
import type { TurnWriter } from '../writer/turn-writes.js';
import type { Progress, ReplyTexts } from './turn-progress.store.js';

const SAVE_EVERY_MS = 12_000;
/**
 * A process saves its turns at multiples of this time, so that they share a statement. The statement also reads stop
 * requests, so a save after at most `SAVE_EVERY_MS + SHARED_EVERY_MS` replaces a poll.
 */
const SHARED_EVERY_MS = 2_000;
/** Minimum time between saves for devices that read along. */
const SAVE_SOON_MS = 1_000;
/** Long texts, which are saved whole, skip one save per this many characters. */
const SKIP_CHARACTERS = 32_768;

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

export interface ReplyState {
  texts(): ReplyTexts;
  state(): Pick<Progress, 'generation' | 'chunkSeq'>;
  /** @param completes true if the current event's effects are complete */
  announcedStep(completes: boolean): number;
  /** The current event, or the last one. */
  event(): number;
  firstUnacknowledged(): number | undefined;
}

/** Saves a reply's progress, so that another process can continue it. */
export interface ReplyProgress {
  /** A generation begins after this event. */
  begin(event: number): void;
  applied(): void;
  /** The text has changed. It is saved soon, or with the next stored event. */
  changed(): void;
  /** Like `changed`, but the text is saved immediately unless it was saved a moment ago. */
  saveSoon(): void;
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

/**
 * An activity that waits this long (ms) is stored alone. A model call or a step usually follows its activity sooner and
 * is stored with it: the turn waits for one commit instead of two. Shorter than the delay before other writes, which
 * are then stored with the activity.
 */
const ALONE_AFTER_MS = 25;

const ACTIVITIES: Partial<Record<AgentActivity, StoredActivity>> = {
  [AgentActivity.READING]: 'reading',
  [AgentActivity.THINKING]: 'thinking',
  [AgentActivity.WRITING]: 'writing',
  [AgentActivity.PENDING]: 'pending',
};

export interface TurnActivityDeps {
  initial: StoredActivity;
  store: (activity: StoredActivity) => Promise<void>;
  onError: (error: unknown) => void;
}

export interface TurnActivity {
  /** Stores a change with the next event, or after a short time. */
  show(activity: AgentActivity): void;
  /** @returns the activity that the next event must store; undefined if it did not change */
  take(): StoredActivity | undefined;
  renew(): Promise<void>;
  end(): void;
}

export function createTurnActivity({ initial, store, onError }: TurnActivityDeps): TurnActivity {
  let current = initial;
  let timer: NodeJS.Timeout | undefined;

  function take(): StoredActivity | undefined {
    if (timer === undefined) return undefined;
    clearTimeout(timer);
    timer = undefined;
    return current;
  }

  async function storeAlone(): Promise<void> {
    const activity = take();
    if (activity !== undefined) await store(activity);
  }

  return {
    show(value) {
      const activity = ACTIVITIES[value];
      if (activity === undefined || activity === current) return;
      current = activity;
      timer ??= setTimeout(() => void storeAlone().catch(onError), ALONE_AFTER_MS);
    },
    take,
    renew: () => store(current),
    end: () => void take(),
  };
}
