import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ReceivedWebPush, startWebPushServer, type WebPushServer } from '@uswarm/dev-servers';
import { describeWith } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import type { Page } from 'playwright-core';
import { type PageFixture, startPage } from './page.js';

const WORKER = '/service-worker.js';

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

  /** Sends a request as the user and the device of the page. @returns the data of its answer */
  async function call<Data>(method: string, path: string, body?: object): Promise<Data> {
    const response = await fetch(`${fixture.local.url}/v1${path}`, {
      method,
      headers: {
        'x-token': await fixture.local.token('Nora'),
        'x-device-id': 'browser',
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (response.status === 204 ? undefined : ((await response.json()) as { data?: unknown }).data) as Data;
  }
  const received = (count: number): Promise<readonly ReceivedWebPush[]> =>
    eventually(() => Promise.resolve(push.received), { until: ({ length }) => length >= count });

  it('arrive while the page is closed, open their conversation, and disappear when it was read elsewhere', async () => {
    const { page } = await fixture.signIn('Nora');
    const [workspace] = await call<{ id: string }[]>('GET', '/workspaces');
    const [conversation] = await call<{ id: string }[]>('GET', `/workspaces/${workspace?.id}/conversations`);
    const path = `/workspaces/${workspace?.id}/conversations/${conversation?.id}`;
    const { vapid_public_key: key } = await call<{ vapid_public_key: string }>('GET', '/push-settings');
    const { endpoint, keys } = push.subscribe(key);
    await call('POST', '/push-token', { push_token: endpoint, service: 'web_push', keys });
    const browser = await pushTo(page);

    // No page shows the answer.
    await page.goto(`${fixture.local.url}/page.json`);
    await call('POST', `${path}/messages`, { content: { type: 'text', text: 'Hello' } });
    const [announced] = await received(1);
    await browser.deliver(announced?.payload);
    expect(await browser.shown(1)).toEqual([
      {
        title: announced?.payload['title'],
        body: announced?.payload['body'],
        data: expect.objectContaining({ type: 'answer', conversation_id: conversation?.id }),
      },
    ]);

    await call('POST', `${path}/read`, {});
    const [, withdrawn] = await received(2);
    expect(withdrawn?.payload).toMatchObject({
      badge: 0,
      data: { type: 'withdrawal', conversation_id: conversation?.id },
    });
    await browser.deliver(withdrawn?.payload);
    expect(await browser.shown(0)).toEqual([]);
  });
});

/** Installs the service worker, and delivers messages to it as the push service of the browser does. */
async function pushTo(page: Page) {
  const origin = new URL(page.url()).origin;
  await page.context().grantPermissions(['notifications'], { origin });
  const session = await page.context().newCDPSession(page);
  const registrations: { registrationId: string; scopeURL: string }[] = [];
  session.on('ServiceWorker.workerRegistrationUpdated', (event) => void registrations.push(...event.registrations));
  await session.send('ServiceWorker.enable');
  await page.evaluate(`
    const policy = trustedTypes.createPolicy('test', { createScriptURL: (url) => url });
    navigator.serviceWorker.register(policy.createScriptURL('${WORKER}')).then(() => navigator.serviceWorker.ready).then(() => true)`);
  const [registration] = await eventually(() => Promise.resolve(registrations), { until: ({ length }) => length > 0 });
  const list = `navigator.serviceWorker.getRegistration('/').then((found) => found.getNotifications())
    .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`;
  return {
    deliver: (payload: unknown) =>
      session.send('ServiceWorker.deliverPushMessage', {
        origin,
        registrationId: registration?.registrationId ?? '',
        data: JSON.stringify(payload),
      }),
    shown: (count: number) =>
      eventually(() => page.evaluate(list) as Promise<object[]>, { until: ({ length }) => length === count }),
  };
}
