import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { visitPage, walkThroughPage } from '@uswarm/testkit/page-walk';
import { type PageFixture, startPage } from './page.js';

describeWith('chromium', 'a first visit of the page in local mode', () => {
  let fixture: PageFixture;
  beforeAll(async () => {
    fixture = await startPage({ USWARM_DEMO_DELAY_MS: '15' });
  });
  afterAll(() => fixture?.stop());

  it('shows a delegation, survives a reload in the middle of it, asks for an approval, and opens a document', async () => {
    const { page, problems } = await fixture.signIn('Eve');
    await visitPage(page, problems, () => walkThroughPage(page));
    expect(problems).toEqual([]);
  });
});
