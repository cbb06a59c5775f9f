import type { BrowserContext, Page } from 'playwright-core';

type Json = Record<string, unknown>;

/**
 * Changes JSON answers before they reach the page: for states that local mode only reaches when its machine fails.
 *
 * @param pattern for the path @returns ends it
 */
export async function alter(page: Page, pattern: RegExp, change: (body: Json) => void): Promise<() => Promise<void>> {
  const isIt = (url: URL): boolean => pattern.test(url.pathname);
  await page.route(isIt, async (route) => {
    if (route.request().method() !== 'GET') return route.fallback();
    const response = await route.fetch();
    const body = (await response.json()) as Json;
    change(body);
    return route.fulfill({ response, json: body });
  });
  return () => page.unroute(isIt);
}

/** Refuses requests as the service does. @returns a function that ends it */
export async function refuse(
  page: Page,
  pattern: RegExp,
  status: number,
  code: string,
  extra: Json = {},
): Promise<() => Promise<void>> {
  const isIt = (url: URL): boolean => pattern.test(url.pathname);
  await page.route(isIt, (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status, json: { code, message: code, extra: { request_id: 'test', ...extra } } })
      : route.fallback(),
  );
  return () => page.unroute(isIt);
}

/**
 * Interposes the sockets in a browser context. Call it before they connect.
 *
 * @param change applied to each sent packet @returns sends an event to the page as the service does
 */
export async function interposeSocket(
  context: BrowserContext,
  change: (packet: string) => string = (packet) => packet,
): Promise<(name: string, payload: object) => void> {
  let toPage = (_packet: string): void => undefined;
  await context.routeWebSocket(/\/socket\.io\//, (socket) => {
    const service = socket.connectToServer();
    toPage = (packet) => socket.send(packet);
    socket.onMessage((packet) => service.send(packet));
    service.onMessage((packet) => socket.send(typeof packet === 'string' ? change(packet) : packet));
  });
  return (name, payload) => toPage(`42/v1,${JSON.stringify([name, payload])}`);
}
