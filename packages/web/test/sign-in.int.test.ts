import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { signInAtIssuer } from '@uswarm/testkit/page-walk';
import { refuse } from './altered.js';
import { type PageFixture, signInAs, startPage, violations } from './page.js';

describeWith('chromium', 'the sign-in of the page', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage();
  });
  afterAll(() => fixture?.stop());

  it('takes one click in local mode, and reports no problem', async () => {
    const { page, problems } = await fixture.open();
    await page.getByRole('heading', { name: 'Welcome to uswarm' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Continue as Ada' }).click();
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('leads to the only workspace of a user, from which the list is one step away and going back leaves the page', async () => {
    const { page } = await fixture.open('/page.json');
    await page.goto(fixture.local.url);
    await signInAs(page, 'Solo');
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    await page.getByRole('link', { name: 'uswarm: all workspaces' }).click();
    const list = page.getByRole('heading', { name: 'Workspaces', exact: true });
    await list.waitFor();
    await page.reload();
    await list.waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    await page.goBack();
    expect(new URL(page.url()).pathname).toBe('/page.json');
    await page.context().close();
  });

  it('signs in at another issuer, which after a reload does not ask again', async () => {
    const { page, problems } = await fixture.open();
    await page.route('**/page.json', async (route) => {
      const configuration = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...configuration, local: false } });
    });
    await page.reload();
    await signInAtIssuer(page, { email: 'una@example.com', name: 'Una' });
    await page.reload();
    await page.getByRole('button', { name: 'Account of Una' }).waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  it('keeps tokens in memory only', async () => {
    const { page } = await fixture.signIn('Mem');
    const token = /eyJ[\w-]+\.[\w-]+/;
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect(stored).toContain('mem@example.com');
    expect(stored).not.toMatch(token);
    await page.context().close();
  });

  it('signs out, and then asks who signs in', async () => {
    const { page } = await fixture.signIn('Otto');
    await page.getByRole('button', { name: 'Account of Otto' }).click();
    await page.getByRole('menuitem', { name: 'Account', exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signInAs(page);
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor();
    await page.context().close();
  });

  it('shows the page that the link led to', async () => {
    const { page } = await fixture.signIn('Lena', { path: '/waiting' });
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('asks for the acceptance of terms that are new', async () => {
    const { page } = await fixture.signIn('Tess');
    await fixture.local.publishTerms('2027-01', '# New terms\n');
    await page.reload();
    await page.getByRole('heading', { name: 'Before you go on' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'I accept both' }).click();
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'My workspace' }).waitFor();
    await page.goto(`${fixture.local.url}/legal/terms`);
    await page.getByRole('heading', { name: 'New terms' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('names the reason if the issuer refuses', async () => {
    const { page } = await fixture.open('/signed-in?error=access_denied&state=x');
    await page.getByRole('alert').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['the account is blocked', 403, 'user_banned', 'Your account is blocked.'],
    ['the account was deleted', 403, 'user_deleted', 'This account was deleted.'],
    ['the clock of the device is wrong', 401, 'timestamp_out_of_window', 'The clock of this device is wrong.'],
  ])('reports that %s', async (_, status, code, text) => {
    const { page } = await fixture.open();
    await refuse(page, /\/v1\/auth\/sign-up$/, status, code);
    await page.getByRole('button', { name: 'Continue as Ada' }).click();
    await page.getByRole('alert').getByText(text).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('reports that the page could not be loaded completely, and tries again', async () => {
    const { page } = await fixture.open('/legal/terms');
    await page.route('**/page.json', (route) => route.fulfill({ status: 503 }));
    await page.goto(fixture.local.url);
    await page.getByRole('alert').getByText('The configuration of the page could not be loaded').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.unroute('**/page.json');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Continue as Ada' }).waitFor();
    await page.context().close();
  });
});
