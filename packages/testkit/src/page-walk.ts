import type { Page } from 'playwright-core';

/** Notes what the page reports in its console, and which servers it asks besides these. */
export function watchPage(page: Page, origins: readonly string[]): string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    const { url } = message.location();
    // Browsers ask each origin for an icon, and an issuer may have none.
    const isIcon = url.endsWith('/favicon.ico');
    if (['error', 'warning'].includes(message.type()) && !isIcon) problems.push(`${message.text()} ${url}`.trim());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && !origins.includes(url.origin)) problems.push(url.href);
  });
  return problems;
}

/** Tells what the page showed and reported when the visit failed. */
export async function visitPage(page: Page, problems: readonly string[], visit: () => Promise<void>): Promise<void> {
  try {
    await visit();
  } catch (error) {
    const shown = await page
      .locator('body')
      .innerText({ timeout: 10_000 })
      .catch((reason: unknown) => `nothing (${String(reason)})`);
    const [reason] = String(error).split('\n');
    throw new Error([reason, page.url(), `The page shows: ${shown}`, 'It reports:', ...problems].join('\n'), {
      cause: error,
    });
  }
}

/** Signs in at the development issuer, as at an issuer of another company, and accepts the legal documents. */
export async function signInAtIssuer(page: Page, { email, name }: { email: string; name: string }): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'I accept both' }).click();
  await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
}

/** Returns when the new conversation is shown; until then, links and the composer belong to the one before. */
export async function openNewConversation(page: Page): Promise<void> {
  const created = page.waitForResponse(
    (response) => response.request().method() === 'POST' && response.url().endsWith('/conversations'),
  );
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  const { data } = (await (await created).json()) as { data: { id: string } };
  await page.waitForURL(`**/c/${data.id}`);
}

/**
 * A first visit with the demo model: the user asks, watches two specialists, loads the page again in
 * the middle, approves a call, and reads the document. Each step waits for what a user would see.
 *
 * @param page of a user who has just signed in for the first time
 */
export async function walkThroughPage(page: Page): Promise<void> {
  const log = page.getByRole('log', { name: 'Messages' });
  const details = page.getByRole('complementary', { name: 'Details' });
  const workspace = page.getByRole('link', { name: /^My workspace/ });

  await workspace.click();
  await openNewConversation(page);
  await page.getByRole('link', { name: 'Swarm', exact: true }).click();
  const box = page.getByRole('textbox', { name: 'Message' });
  // Without @, which would address the agents themselves. Long enough to be seen, and to load the page again before it ends.
  await box.fill('delegate to researcher and analyst: show me a long answer');
  await box.press('Enter');
  // On a slow machine, the tasks have ended before the panel is loaded.
  for (const agent of ['Researcher', 'Analyst'])
    await details.getByRole('article', { name: new RegExp(`^${agent}`) }).waitFor();

  await page.reload();
  for (const agent of ['Researcher', 'Analyst']) await log.getByText(agent, { exact: true }).first().waitFor();
  await log.getByText('The results of my delegations').waitFor();
  await page.getByText('The answer is complete.').waitFor({ state: 'attached' });

  const firstRun = async (): Promise<void> => {
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    await workspace.click();
  };
  await firstRun();
  await page.getByRole('button', { name: /Ask me before you act/ }).click();
  const card = page.getByRole('region', { name: /^Approve\?/ });
  await card.getByRole('button', { name: 'Approve' }).click();
  await card.getByText('You chose: Approve').waitFor();
  await log.getByText(/You approved the call/).waitFor();

  await firstRun();
  await page.getByRole('button', { name: /Write a document/ }).click();
  await log
    .getByRole('link', { name: /Tea party/ })
    .last()
    .click();
  await details.getByRole('heading', { name: 'Tea party' }).first().waitFor();
  await details.getByText('Final', { exact: true }).waitFor();
  await details.getByRole('button', { name: /^Version 2 of 2/ }).waitFor();
  await details.getByRole('listitem').first().waitFor();
}
