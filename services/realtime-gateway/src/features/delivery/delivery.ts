import type { BusEnvelope, ServerEventName } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { Emit } from '../../server-events.js';
import type { Timers } from '../../timers.js';
import { createChunkFilter } from './chunk-filter.js';
import { createSequencer, type SequencerOptions } from './sequencer.js';

export interface DeliveryOptions extends SequencerOptions {
  /** Maximum time in milliseconds for which durable events are buffered. */
  maxBufferMs: number;
  /** Streamed messages that are remembered. */
  chunkMemory: number;
}

export interface DeliveryDeps {
  emit: Emit;
  metrics: Pick<GatewayMetrics, 'eventsDelivered' | 'eventsDropped' | 'gaps'>;
  logger: Pick<Logger, 'warn'>;
  timers: Timers;
  options: DeliveryOptions;
}

/** Delivers the events of one workspace to one socket. */
export interface Delivery {
  push(envelope: BusEnvelope): void;
  /** Starts delivery after `lastSeq`. Envelopes that were pushed before are buffered until then. */
  start(lastSeq: number): void;
  position(): number | undefined;
  /** Buffers durable events for a limited time, so that a response can be sent first. @returns flushes the buffer */
  buffer(): () => void;
  close(): void;
}

export function createDelivery(
  workspaceId: string,
  { emit, metrics, logger, timers, options }: DeliveryDeps,
): Delivery {
  const accepts = createChunkFilter({ memory: options.chunkMemory });
  const sequencer = createSequencer({
    ...options,
    timers,
    deliver(envelope) {
      if (!accepts(envelope)) return;
      emit(envelope.event as ServerEventName, envelope.payload as never);
      metrics.eventsDelivered.inc({ event: envelope.event });
    },
    onDropped: (kind) => metrics.eventsDropped.inc({ kind }),
    onGap(from, to) {
      metrics.gaps.inc();
      logger.warn({ workspaceId, from, to }, 'skipped missing events');
    },
  });
  return {
    push: (envelope) => sequencer.push(envelope),
    start: (lastSeq) => sequencer.start(lastSeq),
    position: () => sequencer.position(),
    buffer() {
      const flush = sequencer.buffer();
      const cancel = timers.after(options.maxBufferMs, flush);
      return () => {
        cancel();
        flush();
      };
    },
    close: () => sequencer.close(),
  };
}
