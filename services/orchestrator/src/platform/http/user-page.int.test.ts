import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

describe('the page of users', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { WEB_CLIENT_ID: 'uswarm-app', WEB_ISSUER_ORIGINS: 'https://tokens.example', DOCS_ENABLED: 'true' },
    });
  });
  afterAll(() => uswarm.close());
  const call = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${uswarm.url}${path}`, init);

  it.each(['/', '/w/1/c/2', '/signed-in'])('is served at %s', async (path) => {
    const { status, headers } = await call(path);
    expect({ status, type: headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect(headers.get('content-security-policy')).toContain(' https://tokens.example;');
  });

  it('has the client id and the issuer in its configuration', async () => {
    expect(await (await call('/page.json')).json()).toMatchObject({
      issuer: expect.stringMatching(/^http:/),
      client_id: 'uswarm-app',
      scopes: 'openid email profile',
      local: false,
    });
  });

  it('leaves other paths and methods to the API', async () => {
    expect((await call('/docs')).headers.get('content-security-policy')).not.toContain('tokens.example');
    expect((await call('/v1/health')).headers.get('content-type')).toContain('application/json');
    for (const [path, method] of [
      ['/nothing', 'GET'],
      ['/', 'POST'],
    ] as const) {
      const answer = await call(path, { method });
      const { code } = (await answer.json()) as { code: string };
      expect({ path, status: answer.status, code }).toEqual({ path, status: 404, code: 'route_not_found' });
    }
  });
});

it('is not served without WEB_CLIENT_ID', async () => {
  const uswarm = await startTestOrchestrator();
  for (const path of ['/', '/page.json', '/signed-in']) expect((await fetch(`${uswarm.url}${path}`)).status).toBe(404);
  await uswarm.close();
});
