import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { startChromium } from '@uswarm/testkit/chromium';
import { signInAtIssuer, visitPage, walkThroughPage, watchPage } from '@uswarm/testkit/page-walk';
import { issueToken } from '../support/edge-client.js';
import { HOST, OIDC_ISSUER } from '../support/fixtures.js';
import { forwardPort, NAMESPACE, openEdgeClient, openSession, type Session } from '../support/index.js';

type Page = Parameters<typeof walkThroughPage>[0];

const ORIGIN = `https://${HOST}`;

describeWith('chromium', 'the page of the cluster', () => {
  let session: Session;
  let page: Page;
  let problems: string[];
  beforeAll(async () => {
    session = await openSession();
    const { edgePort } = session.settings;
    const issuer = await forwardPort(session.tools, NAMESPACE.oidc, 'deployment/oidc', 8080);
    session.onClose(() => issuer.close());
    const { hostname } = new URL(OIDC_ISSUER);
    const browser = await startChromium([
      `--host-resolver-rules=MAP ${HOST} 127.0.0.1:${edgePort},MAP ${hostname} 127.0.0.1:${issuer.port}`,
      // The cluster's issuer has no certificate, and a page with https may not call it otherwise.
      `--unsafely-treat-insecure-origin-as-secure=${OIDC_ISSUER}`,
    ]);
    session.onClose(() => browser.close());
    // The machine does not trust the edge's authority.
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } });
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    problems = watchPage(page, [ORIGIN, OIDC_ISSUER]);
  });
  afterAll(() => session?.close());

  it('signs a user in at the issuer, and shows a whole first visit', async () => {
    const email = `${randomUUID()}@example.com`;
    session.onClose(() => deleteAccount(session, email));
    await visitPage(page, problems, async () => {
      await page.goto(ORIGIN);
      await signInAtIssuer(page, { email, name: 'Eve' });
      await walkThroughPage(page);
    });
    // Connections of a busy cluster break; the page loads its parts again.
    expect(problems.filter((problem) => !problem.includes('net::ERR_'))).toEqual([]);
  });
});

/** Deletes the runtime, too. */
async function deleteAccount({ api, settings, tools }: Session, email: string): Promise<void> {
  const edge = await openEdgeClient(api, settings);
  const headers = { 'x-token': await issueToken(tools, email) };
  await edge.fetch(`${edge.url}/v1/auth/delete`, { method: 'DELETE', headers });
  await edge.close();
}
