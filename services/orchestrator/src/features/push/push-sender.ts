/** What a notification shows, and where it leads. */
export interface PushNotification {
  /** A later notification with the same key replaces the shown one. */
  collapseKey: string;
  /** Notifications of one conversation are shown as a group. */
  group: string;
  title: string;
  body: string;
  /** Ids for the app. */
  data: Record<string, string>;
}

/**
 * `sent`: the service has accepted the notification. `unregistered`: the token is no longer valid. `rejected`: another attempt has
 * the same result. Otherwise the milliseconds until the next attempt.
 */
export type PushResult = 'sent' | 'unregistered' | 'rejected' | { retryInMs: number };

/** Sends notifications to devices with the service of one provider. Does not throw unless the signal aborts. */
export interface PushSender {
  send(token: string, notification: PushNotification, signal: AbortSignal): Promise<PushResult>;
}
