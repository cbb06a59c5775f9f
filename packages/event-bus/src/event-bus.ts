import type { BusEnvelope, BusVersion, SessionEnd, UserEvent } from '@uswarm/contract';
import type { SocketAdapter } from './socket-adapter.js';

/** Ends one subscription; calling it again does nothing. */
export type Unsubscribe = () => void;

export type EnvelopeListener = (envelope: BusEnvelope) => void;
export type SessionEndListener = (end: SessionEnd) => void;
export type UserEventListener = (event: UserEvent) => void;

/** Delivers workspace events to gateways, at most once: only to subscribers that exist when an event is published. */
export interface EventBus {
  /**
   * Never rejects. Sequential calls keep their order.
   * @param version that the oldest running gateway reads, by default 2
   * @returns whether the transport accepted the envelope; a failure is logged.
   */
  publish(envelope: BusEnvelope, version?: BusVersion): Promise<boolean>;
  /**
   * Resolves when the subscription is active; waits while the transport is unavailable.
   * @throws Error if the bus is closed or the transport rejects the subscription.
   */
  subscribe(workspaceId: string, listener: EnvelopeListener): Promise<Unsubscribe>;
  /** As `publish`, to all gateways with a socket of this user. */
  publishSessionEnd(end: SessionEnd): Promise<boolean>;
  /**
   * As `subscribe`, for all user sessions. With a `socketAdapter` it only receives session ends from orchestrators of
   * release 0.2; others arrive at the adapter's servers as `SESSION_END_EVENT`.
   */
  onSessionEnd(listener: SessionEndListener): Promise<Unsubscribe>;
  /** Sends an event to the user's sockets on all gateways. It may be lost. */
  publishUserEvent(event: UserEvent): void;
  /**
   * As `onSessionEnd`, for user events. Undefined with a `socketAdapter`, whose servers receive them as `USER_EVENT`.
   */
  onUserEvent?(listener: UserEventListener): Promise<Unsubscribe>;
  /**
   * Calls `listener` with workspaces whose events are delivered again after a disconnect, in which some may have been lost.
   */
  onReconnect(listener: (workspaceIds: ReadonlySet<string>) => void): Unsubscribe;
  /** As `publish`, to all orchestrators: something of this topic may wait for them. A lost signal only causes a delay. */
  publishSignal(topic: string): Promise<boolean>;
  /** As `subscribe`, for signals. */
  onSignal(listener: (topic: string) => void): Promise<Unsubscribe>;
  /** Connects socket.io servers in several processes; undefined if there is only one process. */
  socketAdapter?: SocketAdapter;
  /** True while events are delivered. */
  healthy(): boolean;
  close(): Promise<void>;
}

export interface BusOptions {
  /** Called for each invalid envelope, which is dropped. */
  onInvalid?: () => void;
}
