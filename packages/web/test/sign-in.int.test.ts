import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type PageFixture, startPage, violations } from './page.js';

describeWith('chromium', 'the sign-in of the page', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage();
  });
  afterAll(() => fixture?.stop());

  it('signs in a user of local mode with one click, and reports no problem', async () => {
    const { page, problems } = await fixture.open();
    await page.getByRole('heading', { name: 'Welcome to uswarm' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Continue as Ada' }).click();
    await page.getByRole('button', { name: 'Account of Ada' }).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(problems).toEqual([]);
  });
});
