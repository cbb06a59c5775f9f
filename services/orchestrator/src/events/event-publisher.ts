import type { OutgoingEnvelope } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import type { Clock } from '@uswarm/service-kit';
import type { Gateways } from './gateways.js';

type Without<Union, Field extends PropertyKey> = Union extends unknown ? Omit<Union, Field> : never;

/** The publisher adds the header. */
export type LiveEvent = Without<Extract<OutgoingEnvelope, { kind: 'ephemeral' }>, 'v' | 'kind' | 'epoch' | 'at'>;

/**
 * An event from the log, or the skip for an event without content. The epoch belongs to the database that it was read
 * from.
 */
export type LoggedEvent = Without<Exclude<OutgoingEnvelope, { kind: 'ephemeral' }>, 'v' | 'epoch'>;

/** Publishes in the version that all running gateways read. @returns false if the bus is unavailable */
export interface EventPublisher {
  live(event: LiveEvent): Promise<boolean>;
  logged(event: LoggedEvent, epoch: string): Promise<boolean>;
}

export interface EventPublisherDeps {
  bus: Pick<EventBus, 'publish'>;
  gateways: Pick<Gateways, 'version'>;
  /** The database's current epoch. */
  epoch: () => string;
  clock: Clock;
}

export function createEventPublisher({ bus, gateways, epoch, clock }: EventPublisherDeps): EventPublisher {
  return {
    live(event) {
      const header = { v: 2, kind: 'ephemeral', epoch: epoch(), at: clock.now().toISOString() } as const;
      return bus.publish({ ...header, ...event }, gateways.version());
    },
    logged: (event, epochOfEvent) => bus.publish({ v: 2, epoch: epochOfEvent, ...event }, gateways.version()),
  };
}
