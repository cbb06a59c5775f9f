import type { PushKeys } from '@uswarm/contract';

/** What a device receives. */
export interface PushMessage {
  /** A later message with the same key replaces this one, also while it has not been delivered. */
  collapseKey: string;
  /** Notifications of one conversation are shown as a group. */
  group: string;
  /** Null: nothing is shown; the app removes the notifications that `data` names. */
  alert: { title: string; body: string } | null;
  /** The number that the icon of the app shows. */
  badge: number;
  /** Ids for the app. */
  data: Record<string, string>;
}

/** Where a service delivers messages to a device. */
export interface PushAddress {
  /** Of Firebase or Apple; the endpoint of a browser. */
  token: string;
  /** Of a browser; otherwise null. */
  keys: PushKeys | null;
}

/**
 * `sent`: the service has accepted the message. `unregistered`: the token is no longer valid. `rejected`: another attempt has
 * the same result. Otherwise the milliseconds until the next attempt.
 */
export type PushResult = 'sent' | 'unregistered' | 'rejected' | { retryInMs: number };

/** Sends messages to devices with one service. Does not throw unless the signal aborts. */
export interface PushSender {
  send(to: PushAddress, message: PushMessage, signal: AbortSignal): Promise<PushResult>;
}
