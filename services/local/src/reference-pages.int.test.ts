import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { startChromium } from '@uswarm/testkit/chromium';
import { type RunningProgram, runLocalMode } from '../test/local.js';

type Browser = Awaited<ReturnType<typeof startChromium>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;

const PHONE = { width: 390, height: 844 };

describeWith('chromium', 'the pages of local mode in a browser', () => {
  let local: RunningProgram;
  let browser: Browser;
  beforeAll(async () => {
    [local, browser] = await Promise.all([runLocalMode(), startChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await local?.stop();
  });

  /** Opens a page, and notes what the console reports and which other servers are asked. */
  async function open(
    path: string,
    viewport = { width: 1280, height: 900 },
  ): Promise<{ page: Page; problems: string[] }> {
    const page = await browser.newPage({ viewport });
    const problems: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== local.url) problems.push(request.url());
    });
    await page.goto(`${local.url}${path}`);
    return { page, problems };
  }

  const shape = (page: Page): Promise<object> =>
    page.evaluate(`({
      title: document.title !== '',
      language: document.documentElement.lang,
      mains: document.querySelectorAll('main').length,
      headings: document.querySelectorAll('h1').length > 0,
      fits: document.documentElement.scrollWidth <= innerWidth,
    })`) as Promise<object>;
  const WELL_FORMED = { title: true, language: 'en', mains: 1, headings: true, fits: true };

  it('lead from the first page to an operation, its example and its error codes', async () => {
    const { page, problems } = await open('/developers');
    await page.getByRole('link', { name: 'REST', exact: true }).click();
    const operation = page.locator('#operations-workspaces-createWorkspace');
    await operation.getByRole('button').first().click();
    await operation.getByText('workspace_limit_reached').first().waitFor({ state: 'attached' });
    expect(await operation.locator('.opblock-section-request-body').innerText()).toContain('"name"');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('call the API with “Try it out”', async () => {
    const { page, problems } = await open('/docs');
    const operation = page.locator('#operations-core-getHealth');
    await operation.getByRole('button').first().click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table').getByText('"online": true').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('show an event with an example', async () => {
    const { page, problems } = await open('/docs/realtime');
    await page.locator('main').getByText('"conversation_id":').first().waitFor({ state: 'attached' });
    expect(await page.locator('main').innerText()).toContain('message.chunk');
    expect(problems).toEqual([]);
    await page.close();
  });

  it.each([
    ['/developers', 'h1'],
    ['/docs', '#operations-core-getHealth'],
    ['/docs/realtime', 'h2:has-text("Operations")'],
  ])('fit a phone and have landmarks: %s', async (path, loaded) => {
    const { page, problems } = await open(path, PHONE);
    await page.locator(loaded).first().waitFor();
    expect(await shape(page)).toEqual(WELL_FORMED);
    expect(problems).toEqual([]);
    await page.close();
  });
});
