/**
 * Shows and withdraws notifications while the page is closed. The server writes their texts: without previews they
 * contain no message text.
 */

import { pathOf, readPush, type ReadPush } from './push-payload.js';

declare const self: ServiceWorkerGlobalScope;

self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('push', (event) => event.waitUntil(receive(readPush(event.data?.text() ?? ''))));
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(pathOf(event.notification.data)));
});

async function receive({ withdrawn, shown, badge }: ReadPush): Promise<void> {
  const { registration } = self;
  for (const tag of withdrawn)
    for (const notification of await registration.getNotifications({ tag })) notification.close();
  if (shown !== undefined) {
    const { title, body, tag, data } = shown;
    await registration.showNotification(title, { body, tag, data, icon: '/icon.svg' });
  }
  if (badge !== undefined) await setBadge(badge);
}

/** Some browsers have no badge, or refuse it for pages that are not installed. */
async function setBadge(count: number): Promise<void> {
  const { navigator } = self;
  if (!('setAppBadge' in navigator)) return;
  await (count === 0 ? navigator.clearAppBadge() : navigator.setAppBadge(count)).catch(() => undefined);
}

/** An open page changes to the conversation itself, because reloading it would end its session. */
async function open(path: string): Promise<void> {
  for (const page of await self.clients.matchAll({ type: 'window', includeUncontrolled: true })) {
    if (!(await changes(page, path))) continue;
    // Refused if the browser has not seen the click.
    await page.focus().catch(() => undefined);
    return;
  }
  await self.clients.openWindow(path);
}

const ANSWERS_WITHIN_MS = 1_000;

/** Asks a page to change to the path. Documents without a session, such as the sign-in, do not answer. */
function changes(page: WindowClient, path: string): Promise<boolean> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener('message', () => resolve(true));
    port1.start();
    setTimeout(() => resolve(false), ANSWERS_WITHIN_MS);
    page.postMessage({ type: 'open', path }, [port2]);
  });
}
