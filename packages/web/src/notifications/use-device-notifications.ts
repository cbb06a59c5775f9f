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
