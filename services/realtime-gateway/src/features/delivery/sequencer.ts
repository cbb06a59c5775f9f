import type { BusEnvelope } from '@uswarm/contract';
import type { Timers } from '../../timers.js';

type Durable = Extract<BusEnvelope, { kind: 'durable' }>;
type Ephemeral = Extract<BusEnvelope, { kind: 'ephemeral' }>;

export interface SequencerOptions {
  /** Milliseconds that a missing seq is waited for. */
  gapTimeoutMs: number;
  /** Envelopes that may wait. */
  bufferLimit: number;
}

export interface SequencerDeps extends SequencerOptions {
  deliver(envelope: BusEnvelope): void;
  /** Called when the seqs `from` to `to` are given up. */
  onGap(from: number, to: number): void;
  /** Called for each envelope that had to make room. */
  onDropped(kind: BusEnvelope['kind']): void;
  timers: Timers;
}

/**
 * Puts the envelopes of one workspace in order for one socket: durable ones in the order of `seq`,
 * each once; ephemeral ones as soon as their `after_seq` is behind.
 */
export interface Sequencer {
  /** Takes envelopes in any order, with duplicates, also before `start`. */
  push(envelope: BusEnvelope): void;
  /** Begins delivery behind `lastSeq`. */
  start(lastSeq: number): void;
  /** Holds durable envelopes back until every hold is released; releasing twice does nothing. */
  hold(): () => void;
  /** The last seq that was delivered or given up; `undefined` before `start`. */
  position(): number | undefined;
  /** Forgets what waits; nothing is delivered any more. */
  close(): void;
}

export function createSequencer(deps: SequencerDeps): Sequencer {
  const { gapTimeoutMs, bufferLimit, deliver, onGap, onDropped, timers } = deps;
  const durable = new Map<number, Durable>();
  const holds = new Set<symbol>();
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

  /** Delivers what is due; what is left waits for a seq that has not come, or for a release. */
  const drain = (): void => {
    if (position === undefined || closed) return;
    deliverEphemeral(position);
    while (holds.size === 0) {
      const next = durable.get(position + 1);
      if (next === undefined) break;
      durable.delete(next.seq);
      position = next.seq;
      stopGapTimer();
      deliver(next);
      deliverEphemeral(position);
    }
    if (holds.size === 0 && durable.size > 0) cancelGapTimer ??= timers.after(gapTimeoutMs, giveUpGap);
  };

  const giveUpGap = (): void => {
    stopGapTimer();
    // While events are held, a missing seq may be among them. The release checks again.
    if (position === undefined || holds.size > 0 || closed) return;
    const next = Math.min(...durable.keys());
    if (next > position + 1) onGap(position + 1, next - 1);
    position = next - 1;
    drain();
  };

  /** Makes room: ephemeral envelopes go first, the oldest first; then the order is given up, not an event. */
  const bound = (): void => {
    if (durable.size + ephemeral.length <= bufferLimit) return;
    if (ephemeral.length > 0) {
      ephemeral.shift();
      onDropped('ephemeral');
    } else if (position === undefined) {
      durable.delete(Math.min(...durable.keys()));
      onDropped('durable');
    } else {
      holds.clear();
      giveUpGap();
    }
  };

  return {
    push(envelope) {
      if (closed) return;
      if (envelope.kind === 'ephemeral') ephemeral.push(envelope);
      else if (envelope.seq > (position ?? 0)) durable.set(envelope.seq, envelope);
      drain();
      bound();
    },
    start(lastSeq) {
      position = lastSeq;
      for (const seq of durable.keys()) if (seq <= lastSeq) durable.delete(seq);
      drain();
    },
    hold() {
      const hold = Symbol('hold');
      holds.add(hold);
      return () => {
        if (holds.delete(hold)) drain();
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
