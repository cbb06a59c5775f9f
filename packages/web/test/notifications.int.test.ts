import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ReceivedWebPush, startWebPushServer, type WebPushServer } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import type { Page, Worker } from 'playwright-core';
import { type PageFixture, startPage, violations } from './page.js';

describeWith('chromium', 'notifications on this device', () => {
  let push: WebPushServer;
  let fixture: PageFixture;
  beforeAll(async () => {
    push = await startWebPushServer();
    fixture = await startPage({ WEB_PUSH_PRIVATE_HOSTS: '127.0.0.1', PUSH_DELAY_MS: '0' });
  });
  afterAll(async () => {
    await fixture?.stop();
    await push?.close();
  });

  /** Sends a request as the user. @returns the data in the answer */
  async function call<Data>(method: string, path: string, body?: object): Promise<Data> {
    const response = await fetch(`${fixture.local.url}/v1${path}`, {
      method,
      headers: { 'x-token': await fixture.local.token('Nora'), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (response.status === 204 ? undefined : ((await response.json()) as { data?: unknown }).data) as Data;
  }
  const received = (count: number): Promise<readonly ReceivedWebPush[]> =>
    eventually(() => Promise.resolve(push.received), { until: ({ length }) => length >= count });

  it('report if the push service of the browser cannot be used', async () => {
    const { page } = await fixture.signIn('Nobody', { path: '/account' });
    await page.context().grantPermissions(['notifications'], { origin: fixture.local.url });
    await page.reload();
    await page.getByRole('button', { name: 'Notify me on this device' }).click();
    await page.getByRole('alert').getByText('The push service of this browser cannot be reached, or refuses').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('arrive while the page is closed, open their conversation, and disappear when it was read elsewhere', async () => {
    const { page } = await fixture.signIn('Nora', { path: '/account' });
    const [workspace] = await call<{ id: string }[]>('GET', '/workspaces');
    const [conversation] = await call<{ id: string }[]>('GET', `/workspaces/${workspace?.id}/conversations`);
    const api = `/workspaces/${workspace?.id}/conversations/${conversation?.id}`;
    const path = `/w/${workspace?.id}/c/${conversation?.id}`;
    const browser = await turnOn(page);

    // No page shows the answer.
    await page.goto(`${fixture.local.url}/page.json`);
    await call('POST', `${api}/messages`, { content: { type: 'text', text: 'Hello' } });
    const [announced] = await received(1);
    await browser.deliver(announced?.payload);
    expect(await browser.shown(1)).toEqual([
      {
        title: announced?.payload['title'],
        body: announced?.payload['body'],
        data: expect.objectContaining({ type: 'answer', conversation_id: conversation?.id }),
      },
    ]);
    expect(await browser.click()).toBe(path);

    await browser.deliver(announced?.payload);
    await browser.shown(1);
    await call('POST', `${api}/read`, {});
    const [, withdrawn] = await received(2);
    expect(withdrawn?.payload).toMatchObject({
      badge: 0,
      data: { type: 'withdrawal', conversation_id: conversation?.id },
    });
    await browser.deliver(withdrawn?.payload);
    expect(await browser.shown(0)).toEqual([]);

    // An open page changes to the conversation, and keeps its session.
    await page.goto(`${fixture.local.url}/account`);
    await page.getByRole('button', { name: 'Do not notify me on this device' }).waitFor();
    await browser.deliver(announced?.payload);
    await browser.shown(1);
    expect(await browser.click()).toBeUndefined();
    await page.waitForURL(`${fixture.local.url}${path}`);

    const mute = page.getByRole('button', { name: 'Mute notifications' });
    await mute.click();
    await page.getByRole('link', { name: /, muted/ }).waitFor();
    expect(await mute.getAttribute('aria-pressed')).toBe('true');
    expect(await violations(page)).toEqual([]);
    expect(await call('GET', api)).toMatchObject({ muted: true });
    await mute.click();
    await page.getByRole('link', { name: /, muted/ }).waitFor({ state: 'detached' });
  });

  /** Turns them on in the page. Its browser subscribes to the test's server instead of its vendor's. */
  async function turnOn(page: Page) {
    const origin = fixture.local.url;
    const context = page.context();
    await context.grantPermissions(['notifications'], { origin });
    const { vapid_public_key: key } = await call<{ vapid_public_key: string }>('GET', '/push-settings');
    const subscription = JSON.stringify(push.subscribe(key));
    await page.evaluate(`PushManager.prototype.subscribe = async () => ({ toJSON: () => (${subscription}) })`);
    const session = await context.newCDPSession(page);
    const registrations: { registrationId: string; scopeURL: string }[] = [];
    session.on('ServiceWorker.workerRegistrationUpdated', (event) => void registrations.push(...event.registrations));
    await session.send('ServiceWorker.enable');
    const started = context.waitForEvent('serviceworker');
    await page.getByRole('button', { name: 'Notify me on this device' }).click();
    await page.getByRole('button', { name: 'Do not notify me on this device' }).waitFor();
    const worker = await started;
    // Until then, the browser drops what is delivered.
    const state = 'navigator.serviceWorker.ready.then(({ active }) => active.state)';
    await eventually(() => page.evaluate(state), { until: (now) => now === 'activated' });
    const registrationId = (
      await eventually(() => Promise.resolve(registrations), { until: ({ length }) => length > 0 })
    )[0]!.registrationId;
    const list = `registration.getNotifications()
      .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`;
    return {
      deliver: (payload: unknown) =>
        session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: JSON.stringify(payload) }),
      shown: (count: number) =>
        eventually(() => worker.evaluate(list) as Promise<object[]>, { until: ({ length }) => length === count }),
      click: () => clickIn(worker),
    };
  }
});

/**
 * Clicks on the notification.
 * @returns the path of the window that the worker opens; undefined if a page shows the conversation
 */
async function clickIn(worker: Worker): Promise<string | undefined> {
  // Browsers open a window only after a person's click.
  return worker.evaluate(`(async () => {
    let opened;
    clients.openWindow = async (path) => { opened = path; return null; };
    const [notification] = await registration.getNotifications();
    let work;
    const click = new NotificationEvent('notificationclick', { notification });
    Object.defineProperty(click, 'waitUntil', { value: (promise) => { work = promise; } });
    dispatchEvent(click);
    await work;
    return opened;
  })()`);
}
