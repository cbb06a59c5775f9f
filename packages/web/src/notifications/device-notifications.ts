import type { Client } from '@uswarm/client';

/**
 * `unsupported`: the browser has no push. `unavailable`: the installation does not send to browsers. `blocked`: the
 * user or the browser forbids notifications. `off` and `on`: the user's choice on this device.
 */
export type NotificationState = 'unsupported' | 'unavailable' | 'blocked' | 'off' | 'on';

/** The user to notify on this device; one per browser. */
const CHOICE = 'uswarm.notifications';
const WORKER = '/service-worker.js';

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(input: string): unknown };
}

/** The page allows only scripts from addresses that it created itself. */
const workerUrl = (): string => {
  const { trustedTypes } = window as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy('uswarm-service-worker', { createScriptURL: () => WORKER });
  return (policy?.createScriptURL('') as string | undefined) ?? WORKER;
};

const isSupported = (): boolean => 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;

const isOn = (user: string): boolean => Notification.permission === 'granted' && localStorage.getItem(CHOICE) === user;

export async function notificationState(client: Client, user: string): Promise<NotificationState> {
  if (!isSupported()) return 'unsupported';
  if ((await applicationServerKey(client)) === null) return 'unavailable';
  if (Notification.permission === 'denied') return 'blocked';
  return isOn(user) ? 'on' : 'off';
}

/** Asks the user for permission, so it must run in a click handler. */
export async function turnOn(client: Client, user: string): Promise<NotificationState> {
  if ((await Notification.requestPermission()) !== 'granted') return notificationState(client, user);
  await register(client);
  localStorage.setItem(CHOICE, user);
  return 'on';
}

export async function turnOff(client: Client, user: string): Promise<NotificationState> {
  localStorage.removeItem(CHOICE);
  await client.api.delete('/v1/push-token');
  const subscription = await (await worker())?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  return notificationState(client, user);
}

/** Registers again after a sign-in, because the browser's or the server's registration can have changed. */
export async function renew(client: Client, user: string): Promise<void> {
  if (isSupported() && isOn(user)) await register(client);
}

/** Calls `open` with the path of a clicked notification. @returns a function that ends it */
export function onOpen(open: (path: string) => void): () => void {
  if (!isSupported()) return () => undefined;
  const listener = ({ data, ports }: MessageEvent<{ type?: unknown; path?: unknown } | null>): void => {
    if (data?.type !== 'open' || typeof data.path !== 'string') return;
    open(data.path);
    ports[0]?.postMessage('opened');
  };
  navigator.serviceWorker.addEventListener('message', listener);
  return () => navigator.serviceWorker.removeEventListener('message', listener);
}

const worker = (): Promise<ServiceWorkerRegistration | undefined> => navigator.serviceWorker.getRegistration('/');

async function applicationServerKey(client: Client): Promise<string | null> {
  return (await client.api.get('/v1/push-settings')).data.vapid_public_key;
}

async function register(client: Client): Promise<void> {
  const key = await applicationServerKey(client);
  if (key === null) throw new Error('The installation sends no notifications to browsers.');
  await navigator.serviceWorker.register(workerUrl(), { scope: '/' });
  const { pushManager } = await navigator.serviceWorker.ready;
  const known = await pushManager.getSubscription();
  // A subscription belongs to one key, and the installation's key can have changed.
  const isCurrent = known !== null && base64url(known.options.applicationServerKey) === key;
  if (known !== null && !isCurrent) await known.unsubscribe();
  const options = { userVisibleOnly: true, applicationServerKey: key };
  const subscription = known !== null && isCurrent ? known : await pushManager.subscribe(options).catch(refused);
  const { endpoint, keys } = subscription.toJSON();
  const { p256dh, auth } = keys ?? {};
  if (endpoint === undefined || p256dh === undefined || auth === undefined)
    throw new Error('The browser returned a subscription without keys.');
  await client.api.post('/v1/push-token', {
    body: { push_token: endpoint, service: 'web_push', keys: { p256dh, auth } },
  });
}

/** The browser asks its vendor's service, and reports only that it failed. */
function refused(error: Error): never {
  throw new Error(`The push service of this browser cannot be reached, or refuses: ${error.message}`, { cause: error });
}

const base64url = (bytes: ArrayBuffer | null): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes ?? new ArrayBuffer(0))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
