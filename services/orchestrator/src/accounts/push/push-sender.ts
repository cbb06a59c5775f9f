import type { PushKeys } from '@uswarm/contract';

export interface PushMessage {
  /** A later message with the same key replaces this one, also while it has not been delivered. */
  collapseKey: string;
  /** Notifications in one conversation are shown as a group. */
  group: string;
  /** Null: nothing is shown; the app removes the notifications that `data` names. */
  alert: { title: string; body: string } | null;
  /** Shown on the app icon. */
  badge: number;
  data: Record<string, string>;
}

export interface PushAddress {
  /** A Firebase or Apple token, or a browser's endpoint. */
  token: string;
  /** Null unless the device is a browser. */
  keys: PushKeys | null;
}

/**
 * `sent`: the service has accepted the message. `unregistered`: the token is no longer valid. `rejected`: another
 * attempt has the same result.
 */
export type PushResult = 'sent' | 'unregistered' | 'rejected' | { retryInMs: number };

/** Sends messages through one service. Does not throw unless the signal aborts. */
export interface PushSender {
  send(to: PushAddress, message: PushMessage, signal: AbortSignal): Promise<PushResult>;
}
