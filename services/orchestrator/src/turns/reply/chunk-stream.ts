import { chunkPauseMs } from '@uswarm/service-kit';

/** This generation's text becomes `text[0..offset) + part`. */
export interface TextPart {
  text: string;
  /** UTF-16 code units. */
  offset: number;
  chunkSeq: number;
}

/** Publishes the first part immediately and joins later ones. */
export interface ChunkStream {
  /** Includes text that waits. */
  readonly length: number;
  readonly chunkSeq: number;
  /** Adds text at a position and voids the text after it. Default: the end. */
  add(text: string, offset?: number): void;
  flush(): void;
  /** Begins a generation's text, or continues it after a published part. */
  begin(length: number, chunkSeq: number): void;
}

export interface ChunkStreamDeps {
  publish: (part: TextPart) => void;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
  /** Runs `task` after `delayMs` unless cancelled. */
  schedule?: (task: () => void, delayMs: number) => () => void;
}

const byTimer: NonNullable<ChunkStreamDeps['schedule']> = (task, delayMs) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

export function createChunkStream({
  publish,
  now = () => performance.now(),
  schedule = byTimer,
}: ChunkStreamDeps): ChunkStream {
  let chunkSeq = 0;
  /** Unpublished text and its position. Empty text can wait after text was retracted. */
  let waiting: { text: string; offset: number } | undefined;
  let length = 0;
  let startedAt: number | undefined;
  let cancel: (() => void) | undefined;

  function send(): void {
    if (waiting === undefined) return;
    chunkSeq += 1;
    const part = { ...waiting, chunkSeq };
    waiting = undefined;
    publish(part);
  }

  function pace(): void {
    if (cancel !== undefined || waiting === undefined) return;
    startedAt ??= now();
    send();
    cancel = schedule(
      () => {
        cancel = undefined;
        pace();
      },
      chunkPauseMs(now() - startedAt),
    );
  }

  function stop(): void {
    cancel?.();
    cancel = undefined;
  }

  return {
    get length() {
      return length;
    },
    get chunkSeq() {
      return chunkSeq;
    },
    add(text, offset = length) {
      const kept = waiting === undefined || offset < waiting.offset ? undefined : waiting;
      waiting =
        kept === undefined
          ? { text, offset }
          : { text: kept.text.slice(0, offset - kept.offset) + text, offset: kept.offset };
      length = offset + text.length;
      pace();
    },
    flush() {
      send();
      stop();
    },
    begin(newLength, seq) {
      stop();
      waiting = undefined;
      startedAt = undefined;
      length = newLength;
      chunkSeq = seq;
    },
  };
}
