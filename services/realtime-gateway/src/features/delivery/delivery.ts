import type { BusEnvelope } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { Emit } from '../../server-events.js';
import type { Timers } from '../../timers.js';
import { createChunkFilter } from './chunk-filter.js';
import { createSequencer, type SequencerOptions } from './sequencer.js';

export interface DeliveryOptions extends SequencerOptions {
  /** Milliseconds after which a hold ends by itself. */
  holdLimitMs: number;
  /** Replies whose streams are remembered. */
  chunkMemory: number;
}

export interface DeliveryDeps {
  emit: Emit;
  metrics: Pick<GatewayMetrics, 'eventsDelivered' | 'eventsDropped' | 'gaps'>;
  logger: Pick<Logger, 'warn'>;
  timers: Timers;
  options: DeliveryOptions;
}

/** The way of one workspace's events to one socket. */
export interface Delivery {
  push(envelope: BusEnvelope): void;
  /** Begins behind `lastSeq`; what was pushed before is kept until then. */
  start(lastSeq: number): void;
  position(): number | undefined;
  /** Keeps durable events back for a while, so that an answer can go first. @returns ends it. */
  hold(): () => void;
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
      emit(envelope.event, envelope.payload);
      metrics.eventsDelivered.inc({ event: envelope.event });
    },
    onDropped: (kind) => metrics.eventsDropped.inc({ kind }),
    onGap(from, to) {
      metrics.gaps.inc();
      logger.warn({ workspaceId, from, to }, 'gave up missing events');
    },
  });
  return {
    push: (envelope) => sequencer.push(envelope),
    start: (lastSeq) => sequencer.start(lastSeq),
    position: () => sequencer.position(),
    hold() {
      const release = sequencer.hold();
      const cancel = timers.after(options.holdLimitMs, release);
      return () => {
        cancel();
        release();
      };
    },
    close: () => sequencer.close(),
  };
}
