import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { useSession } from '../session/use-client.js';
import { onOpen, renew } from './device-notifications.js';

/** Keeps this device registered if the user wants notifications, and opens the conversation of a clicked one. */
export function KeepNotifications() {
  const { client, user } = useSession();
  const [, navigate] = useLocation();
  useEffect(() => {
    // The account screen shows the error.
    renew(client, user.email).catch(() => undefined);
  }, [client, user.email]);
  useEffect(() => onOpen((path) => navigate(path)), [navigate]);
  return null;
}
