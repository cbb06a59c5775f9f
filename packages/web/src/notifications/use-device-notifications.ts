import { useCallback, useEffect, useState } from 'react';
import { useSession } from '../session/use-client.js';
import { type NotificationState, notificationState, turnOff, turnOn } from './device-notifications.js';

/** The setting "Notify me on this device". */
export interface DeviceNotifications {
  /** Undefined until it is known. */
  state: NotificationState | undefined;
  busy: boolean;
  error: Error | undefined;
  /** Must run in a click handler, because the browser asks the user. */
  set(on: boolean): void;
}

/** States, for users. */
export const EXPLAINED = {
  unsupported: 'This browser has no notifications. On an iPhone, add the page to the home screen first.',
  unavailable: 'This installation sends no notifications to browsers.',
  blocked: 'This browser blocks notifications of this page. Allow them in its settings.',
  off: 'Learn that an answer is ready or a card waits, also while the page is closed.',
  on: 'This device learns that an answer is ready or a card waits, also while the page is closed.',
} as const;

export function useDeviceNotifications(): DeviceNotifications {
  const { client, user } = useSession();
  const [state, setState] = useState<NotificationState>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const run = useCallback((action: () => Promise<NotificationState>): void => {
    setBusy(true);
    setError(undefined);
    action()
      .then(setState, setError)
      .finally(() => setBusy(false));
  }, []);
  useEffect(() => run(() => notificationState(client, user.email)), [client, user.email, run]);
  const set = useCallback(
    (on: boolean) => run(() => (on ? turnOn : turnOff)(client, user.email)),
    [client, user.email, run],
  );
  return { state, busy, error, set };
}
