import type { BusEnvelope, SessionEnd } from '@uswarm/contract';
import type { SocketAdapter } from './socket-adapter.js';

/** Ends one subscription; calling it again does nothing. */
export type Unsubscribe = () => void;

export type EnvelopeListener = (envelope: BusEnvelope) => void;
export type SessionEndListener = (end: SessionEnd) => void;

/**
 * Carries the events of workspaces from those who make them to the gateways that serve them.
 * At most once: who is not subscribed when an event passes never sees it.
 */
export interface EventBus {
  /**
   * Never throws. A publisher that awaits each call is heard in that order.
   * @returns whether the envelope was handed to the transport; one given up is logged.
   */
  publish(envelope: BusEnvelope): Promise<boolean>;
  /**
   * Resolves once the subscription is in force; waits while the transport is away.
   * @throws when the bus is closed or the transport refuses the subscription.
   */
  subscribe(workspaceId: string, listener: EnvelopeListener): Promise<Unsubscribe>;
  /** As `publish`, to everybody who has a socket of the user. */
  publishSessionEnd(end: SessionEnd): Promise<boolean>;
  /**
   * As `subscribe`, for the sessions of all users. With a `socketAdapter` these are only the ends that an orchestrator
   * of release 0.2 publishes; the others come to the servers of the adapter as `SESSION_END_EVENT`.
   */
  onSessionEnd(listener: SessionEndListener): Promise<Unsubscribe>;
  /** How socket.io servers of several processes reach each other; undefined if there is one process only. */
  socketAdapter?: SocketAdapter;
  /** Whether events pass now. */
  healthy(): boolean;
  close(): Promise<void>;
}

export interface BusOptions {
  /** Called for each envelope that was dropped because it is not one of ours. */
  onInvalid?: () => void;
}
