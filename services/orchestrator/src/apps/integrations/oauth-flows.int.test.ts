import type { IntegrationProvider, OAuthConfiguration } from '@uswarm/contract';
import type { OAuthServer } from '@uswarm/dev-servers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  authorized,
  CALLBACK,
  connect,
  enabledOf,
  integrationEnvironment,
  startProviderServer,
} from '../../../test/integrations.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';

const ISSUER = 'https://provider.example.com';

let server: OAuthServer;
let plainServer: OAuthServer;
let uswarm: TestOrchestrator;
/** Its providers do not support PKCE. */
let plain: TestOrchestrator;
beforeAll(async () => {
  server = await startProviderServer();
  plainServer = await startProviderServer({ pkce: false });
  uswarm = await startTestOrchestrator({ environment: integrationEnvironment(server, { issuer: ISSUER }) });
  plain = await startTestOrchestrator({ environment: integrationEnvironment(plainServer, { pkce: false }) });
});
afterAll(async () => {
  await plain.close();
  await uswarm.close();
  await plainServer.close();
  await server.close();
});

async function stateOf(user: TestUser, provider: IntegrationProvider): Promise<string> {
  const { body } = await user.post<OAuthConfiguration>('/v1/integrations/connect', { provider }, 200);
  return body.additional_parameters['state']!;
}

/** Sends a callback that must be rejected. `asked` is true if the provider was called. */
async function refused(user: TestUser, provider: OAuthServer, body: object): Promise<{ code: string; asked: boolean }> {
  const { exchanges } = provider.counts;
  const code = await user.refusal('POST', CALLBACK, body);
  return { code, asked: provider.counts.exchanges !== exchanges };
}

const invalid = { code: 'integration_code_invalid', asked: false };

describe('a provider without a code challenge', () => {
  it('connects if the callback has the state of the same flow', async () => {
    const user = await plain.user();
    const body = await authorized(user, plainServer, 'gmail');
    await user.post(CALLBACK, { ...body, state: await stateOf(user, 'gmail') }, 204);
    expect(await enabledOf(user)).toEqual(['gmail']);
  });

  it.each<[string, (user: TestUser) => Promise<string | undefined>]>([
    ['without a state', () => Promise.resolve(undefined)],
    ['with an invented state', () => Promise.resolve('made-up')],
    ['with a state of another user', async () => stateOf(await plain.user(), 'gmail')],
    ['with a state for another provider', (user) => stateOf(user, 'google_calendar')],
  ])('is not called for a callback %s', async (_what, state) => {
    const user = await plain.user();
    const body = await authorized(user, plainServer, 'gmail');
    expect(await refused(user, plainServer, { ...body, state: await state(user) })).toEqual(invalid);
    expect(await enabledOf(user)).toEqual([]);
  });

  it('is not called for a state that was used with another code', async () => {
    const user = await plain.user();
    const state = await stateOf(user, 'gmail');
    await user.post(CALLBACK, { ...(await authorized(user, plainServer, 'gmail')), state }, 204);
    expect(await refused(user, plainServer, { ...(await authorized(user, plainServer, 'gmail')), state })).toEqual(
      invalid,
    );
  });

  it('accepts the same state and code again after it was unavailable', async () => {
    const user = await plain.user();
    const body = { ...(await authorized(user, plainServer, 'gmail')), state: await stateOf(user, 'gmail') };
    plainServer.setUnavailable(true);
    expect(await user.refusal('POST', CALLBACK, body)).toBe('integration_unavailable');
    plainServer.setUnavailable(false);
    await user.post(CALLBACK, body, 204);
  });
});

describe('a provider with a code challenge', () => {
  it('connects without a state', async () => {
    const user = await uswarm.user();
    const { provider, authorization_code, code_verifier, redirect_url } = await authorized(user, server, 'gmail');
    await user.post(CALLBACK, { provider, authorization_code, code_verifier, redirect_url }, 204);
    expect(await enabledOf(user)).toEqual(['gmail']);
  });

  it('is not called for a state of another user', async () => {
    const user = await uswarm.user();
    const body = await authorized(user, server, 'gmail');
    const state = await stateOf(await uswarm.user(), 'gmail');
    expect(await refused(user, server, { ...body, state })).toEqual(invalid);
  });

  it('is not called for a callback of another issuer', async () => {
    const user = await uswarm.user();
    const body = await authorized(user, server, 'gmail');
    expect(await refused(user, server, { ...body, iss: 'https://evil.example.com' })).toEqual(invalid);
    await user.post(CALLBACK, { ...body, iss: ISSUER }, 204);
  });

  it('stays connected when a callback with a used state is rejected', async () => {
    const user = await uswarm.user();
    const state = await stateOf(user, 'gmail');
    await user.post(CALLBACK, { ...(await authorized(user, server, 'gmail')), state }, 204);
    await connect(user, server, 'google_calendar');
    expect(await refused(user, server, { ...(await authorized(user, server, 'google_calendar')), state })).toEqual(
      invalid,
    );
    expect((await enabledOf(user)).toSorted()).toEqual(['gmail', 'google_calendar']);
  });
});
