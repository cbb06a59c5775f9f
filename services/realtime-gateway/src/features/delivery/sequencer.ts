import type { BusEnvelope } from '@uswarm/contract';
import type { Timers } from '../../timers.js';

type Durable = Exclude<BusEnvelope, { kind: 'ephemeral' }>;
type Ephemeral = Extract<BusEnvelope, { kind: 'ephemeral' }>;

export interface SequencerOptions {
  /** Milliseconds after which a missing sequence is skipped. */
  gapTimeoutMs: number;
  /** Maximum number of buffered envelopes. */
  bufferLimit: number;
}

/** An envelope with an event for the client. */
export type EventEnvelope = Exclude<BusEnvelope, { kind: 'skip' }>;

export interface SequencerDeps extends SequencerOptions {
  deliver(envelope: EventEnvelope): void;
  /** Called when the sequences `from` to `to` are skipped. */
  onGap(from: number, to: number): void;
  /** Called for each envelope that is dropped because the buffer is full. */
  onDropped(kind: EventEnvelope['kind']): void;
  timers: Timers;
}

/**
 * Orders the envelopes of one workspace for one socket: durable ones by `seq`, each once; ephemeral ones as soon as their
 * `after_seq` is reached.
 */
export interface Sequencer {
  /** Accepts envelopes in any order, with duplicates, also before `start`. */
  push(envelope: BusEnvelope): void;
  /** Starts delivery after `lastSeq`. */
  start(lastSeq: number): void;
  /** Buffers durable envelopes until every returned function was called. @returns flushes; a second call has no effect */
  buffer(): () => void;
  /** The last sequence that was delivered or skipped; `undefined` before `start`. */
  position(): number | undefined;
  /** Drops all buffered envelopes and stops delivery. */
  close(): void;
}

export function createSequencer(deps: SequencerDeps): Sequencer {
  const { gapTimeoutMs, bufferLimit, deliver, onGap, onDropped, timers } = deps;
  const durable = new Map<number, Durable>();
  const buffers = new Set<symbol>();
  let ephemeral: Ephemeral[] = [];
  let position: number | undefined;
  let closed = false;
  let cancelGapTimer: (() => void) | undefined;

  const stopGapTimer = (): void => {
    cancelGapTimer?.();
    cancelGapTimer = undefined;
  };

  const deliverEphemeral = (reached: number): void => {
    if (ephemeral.length === 0) return;
    const ready = ephemeral.filter(({ after_seq }) => after_seq <= reached);
    if (ready.length === 0) return;
    ephemeral = ephemeral.filter(({ after_seq }) => after_seq > reached);
    for (const envelope of ready) deliver(envelope);
  };

  /** Delivers all due envelopes. The others wait for a missing sequence or for a flush. */
  const drain = (): void => {
    if (position === undefined || closed) return;
    deliverEphemeral(position);
    while (buffers.size === 0) {
      const next = durable.get(position + 1);
      if (next === undefined) break;
      durable.delete(next.seq);
      position = next.seq;
      stopGapTimer();
      if (next.kind === 'durable') deliver(next);
      deliverEphemeral(position);
    }
    if (buffers.size === 0 && durable.size > 0) cancelGapTimer ??= timers.after(gapTimeoutMs, skipGap);
  };

  const skipGap = (): void => {
    stopGapTimer();
    // While buffering, the missing sequence may be in the buffer. The flush checks again.
    if (position === undefined || buffers.size > 0 || closed) return;
    const next = Math.min(...durable.keys());
    if (next > position + 1) onGap(position + 1, next - 1);
    position = next - 1;
    drain();
  };

  /** Bounds the buffer: drops the oldest ephemeral envelopes first, then skips gaps rather than drop a durable one. */
  const enforceLimit = (): void => {
    if (durable.size + ephemeral.length <= bufferLimit) return;
    if (ephemeral.length > 0) {
      ephemeral.shift();
      onDropped('ephemeral');
    } else if (position === undefined) {
      durable.delete(Math.min(...durable.keys()));
      onDropped('durable');
    } else {
      buffers.clear();
      skipGap();
    }
  };

  return {
    push(envelope) {
      if (closed) return;
      if (envelope.kind === 'ephemeral') ephemeral.push(envelope);
      else if (envelope.seq > (position ?? 0)) durable.set(envelope.seq, envelope);
      drain();
      enforceLimit();
    },
    start(lastSeq) {
      position = lastSeq;
      for (const seq of durable.keys()) if (seq <= lastSeq) durable.delete(seq);
      drain();
    },
    buffer() {
      const id = Symbol('buffer');
      buffers.add(id);
      return () => {
        if (buffers.delete(id)) drain();
      };
    },
    position: () => position,
    close() {
      closed = true;
      stopGapTimer();
      durable.clear();
      ephemeral = [];
    },
  };
}
