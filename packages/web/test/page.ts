import { AxeBuilder } from '@axe-core/playwright';
import { startChromium } from '@uswarm/testkit/chromium';
import { watchPage } from '@uswarm/testkit/page-walk';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startLocalMode, type LocalMode } from './local-mode.js';

const HANGS_MS = 180_000;

export interface PageFixture {
  local: LocalMode;
  browser: Browser;
  /** A page on another device. `problems` lists its console messages and its requests to other servers. */
  open(path?: string, options?: BrowserContextOptions): Promise<{ page: Page; problems: string[] }>;
  /** A page whose user signed in by local mode's button or form. */
  signIn(
    name?: string,
    options?: BrowserContextOptions & { path?: string },
  ): Promise<{ page: Page; problems: string[] }>;
  stop(): Promise<void>;
}

/** One local mode and one browser per test file. */
export async function startPage(environment: Record<string, string> = {}): Promise<PageFixture> {
  const [local, browser] = await Promise.all([startLocalMode(environment), startChromium()]);
  const fixture: PageFixture = {
    local,
    browser,
    async open(path = '/', options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      // Long, so that it ends only tests that hang, also on a busy machine.
      context.setDefaultTimeout(HANGS_MS);
      const page = await context.newPage();
      const problems = watchPage(page, [local.url]);
      await page.goto(`${local.url}${path}`);
      return { page, problems };
    },
    async signIn(name, { path, ...options } = {}) {
      const opened = await fixture.open(path, options);
      await signInAs(opened.page, name);
      return opened;
    },
    async stop() {
      await browser.close();
      await local.stop();
    },
  };
  return fixture;
}

/** Expects the sign-in screen. */
export async function signInAs(page: Page, name?: string): Promise<void> {
  if (name === undefined) await page.getByRole('button', { name: /^Continue as/ }).click();
  else {
    await page.getByLabel('Or under another name').fill(name);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
  }
  await page.getByRole('button', { name: /^Account of/ }).waitFor();
}

/**
 * Axe violations as `rule: element`; a test expects none in each state that it shows. Open menus are outside the
 * landmarks, where they belong.
 */
export async function violations(page: Page): Promise<string[]> {
  await transitionsEnd(page);
  const { violations: found } = await new AxeBuilder({ page }).disableRules('region').analyze();
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

/** Otherwise Axe measures contrasts between two colours that follow each other. */
export async function transitionsEnd(page: Page): Promise<void> {
  // A spinner never ends.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished))`);
}

export async function ask(page: Page, text: string): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message' });
  await box.fill(text);
  await box.press('Enter');
}
