import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IntegrationCatalog, OAuthConfiguration } from '@uswarm/contract';
import type { OAuthServer } from '@uswarm/dev-servers';
import {
  authorized,
  CALLBACK,
  CLIENT_SECRET,
  connect,
  enabledOf,
  integrationEnvironment,
  redirectUrlOf,
  startProviderServer,
  tokensIn,
} from '../../../test/integrations.js';
import { allRows } from '../../../test/database-rows.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { findIntegrationOf } from '../../records/integrations.store.js';

const CONNECT = '/v1/integrations/connect';

const GMAIL_URL = redirectUrlOf('gmail');

describe('integrations', () => {
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let environment: Record<string, string>;
  const log: string[] = [];
  beforeAll(async () => {
    server = await startProviderServer();
    environment = integrationEnvironment(server);
    uswarm = await startTestOrchestrator({ environment, logTo: log });
    user = await uswarm.user();
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  const catalog = async (of = user) => (await of.get<{ data: IntegrationCatalog }>('/v1/integrations')).body.data;

  it('REST-036 GET /v1/integrations returns categories and one list of tools and apps', async () => {
    const { categories, items } = await catalog();
    expect(categories.length).toBeGreaterThan(0);
    expect(new Set(items.map(({ type }) => type))).toEqual(new Set(['tool', 'app']));
  });

  it('RES-076 a category has id, name and image_url', async () => {
    const { categories } = await catalog();
    const fields = categories.map((category) => Object.entries(category).map(([name, value]) => [name, typeof value]));
    const expected = [
      ['id', 'string'],
      ['name', 'string'],
      ['image_url', 'string'],
    ];
    expect(fields).toEqual(categories.map(() => expected));
  });

  it('RES-077 an item has seven fields, and its category is in the list of categories', async () => {
    const { categories, items } = await catalog();
    const known = new Set(categories.map(({ id }) => id));
    for (const item of items) {
      expect(Object.keys(item).toSorted()).toEqual([
        'category_id',
        'description',
        'enabled',
        'icon_url',
        'name',
        'provider',
        'type',
      ]);
      expect(known).toContain(item.category_id);
    }
  });

  it('RES-078 the provider of a built-in tool is null, and the tool is enabled for all users', async () => {
    const tools = (await catalog()).items.filter(({ type }) => type === 'tool');
    expect(tools.length).toBeGreaterThan(0);
    expect(tools.map(({ provider, enabled }) => [provider, enabled])).toEqual(tools.map(() => [null, true]));
  });

  it('REST-037 POST /v1/integrations/connect returns the OAuth configuration of the provider without an envelope', async () => {
    const { status, body } = await user.post(CONNECT, { provider: 'gmail' }, 200);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        client_id: 'client-gmail',
        redirect_url: GMAIL_URL,
        authorization_endpoint: server.authorizationEndpoint,
        token_endpoint: server.tokenEndpoint,
        scopes: ['openid', 'offline_access'],
        additional_parameters: { prompt: 'consent', code_challenge_method: 'S256', state: expect.any(String) },
      },
    });
  });

  it('RES-079 an OAuth configuration has six fields and no secret', async () => {
    const { body } = await user.post<OAuthConfiguration>(CONNECT, { provider: 'google_calendar' }, 200);
    expect(Object.keys(body).toSorted()).toEqual(Object.keys(OAuthConfiguration.shape).toSorted());
    expect(OAuthConfiguration.parse(body)).toEqual(body);
    expect(JSON.stringify(body)).not.toContain(CLIENT_SECRET);
  });

  it.each(['gmail', 'google_calendar'] as const)(
    'POST /v1/integrations/callback connects %s and returns 204',
    async (provider) => {
      const person = await uswarm.user();
      const answer = await person.post(CALLBACK, await authorized(person, server, provider), 204);
      expect(answer.body).toBeUndefined();
      expect(await enabledOf(person)).toEqual([provider]);
    },
  );

  it('a connection of one user does not affect another user', async () => {
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    await connect(one, server, 'gmail');
    expect({ one: await enabledOf(one), other: await enabledOf(other) }).toEqual({ one: ['gmail'], other: [] });
    expect(await other.refusal('DELETE', '/v1/integrations/gmail')).toBe('integration_not_found');
    expect(await enabledOf(one)).toEqual(['gmail']);
  });

  it('a repeated callback changes nothing and does not redeem the code again', async () => {
    const person = await uswarm.user();
    const body = await connect(person, server, 'gmail');
    const before = await allRows(uswarm.database);
    const { exchanges } = server.counts;
    await person.post(CALLBACK, body, 204);
    expect(server.counts.exchanges).toBe(exchanges);
    expect((await allRows(uswarm.database))['integrations']).toEqual(before['integrations']);
  });

  it('a second authorization replaces the connection', async () => {
    const person = await uswarm.user();
    await connect(person, server, 'gmail');
    const before = await uswarm.database.selectFrom('integrations').select('id').execute();
    await connect(person, server, 'gmail');
    const after = await uswarm.database.selectFrom('integrations').select('id').execute();
    expect(after).toHaveLength(before.length);
    expect(after).not.toEqual(before);
  });

  describe('an OAuth callback', () => {
    const refusal = (body: object) => user.refusal('POST', CALLBACK, body);

    it('is rejected if the provider does not know the code', async () => {
      const body = await authorized(user, server, 'gmail');
      expect(await refusal({ ...body, authorization_code: 'made-up' })).toBe('integration_code_invalid');
    });

    it('is rejected if the verifier belongs to another challenge', async () => {
      const body = await authorized(user, server, 'gmail');
      expect(await refusal({ ...body, code_verifier: 'x'.repeat(43) })).toBe('integration_code_invalid');
    });

    it.each(['', 'short', 'x'.repeat(129), `${'x'.repeat(42)} `, `${'x'.repeat(43)}é`])(
      'is rejected if the verifier is malformed: %j',
      async (verifier) => {
        const body = {
          provider: 'gmail',
          authorization_code: 'c',
          code_verifier: verifier,
          redirect_url: GMAIL_URL,
        };
        expect(await refusal(body)).toBe('validation_failed');
      },
    );

    it.each([`${GMAIL_URL}/`, `${GMAIL_URL}?x=1`, 'https://evil.example.com', GMAIL_URL.toUpperCase(), ''])(
      'is rejected if the redirect URL is not a configured one: %s',
      async (redirectUrl) => {
        const body = await authorized(user, server, 'gmail');
        expect(await refusal({ ...body, redirect_url: redirectUrl })).toBe('redirect_url_not_allowed');
      },
    );

    it('is rejected if the provider is not configured', async () => {
      const body = await authorized(user, server, 'gmail');
      expect(await refusal({ ...body, provider: 'slack' })).toBe('integration_not_configured');
      expect(await user.refusal('POST', CONNECT, { provider: 'slack' })).toBe('integration_not_configured');
    });

    it('is rejected if the provider is unknown', async () => {
      const body = await authorized(user, server, 'gmail');
      expect(await refusal({ ...body, provider: 'myspace' })).toBe('validation_failed');
    });

    it('is rejected while the provider is unavailable, and succeeds after it recovered', async () => {
      const person = await uswarm.user();
      const body = await authorized(person, server, 'gmail');
      server.setUnavailable(true);
      expect(await person.refusal('POST', CALLBACK, body)).toBe('integration_unavailable');
      server.setUnavailable(false);
      await person.post(CALLBACK, body, 204);
      expect(await enabledOf(person)).toEqual(['gmail']);
    });

    it('creates no connection if it is rejected', async () => {
      expect(await enabledOf(user)).toEqual([]);
    });
  });

  it('tokens appear neither in the database nor in the log in plain text', async () => {
    const person = await uswarm.user();
    const { authorization_code: code, code_verifier: verifier } = await connect(person, server, 'gmail');
    const { email } = person;
    const { id } = await uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', email)
      .executeTakeFirstOrThrow();
    const row = await findIntegrationOf(uswarm.database, id, 'gmail');
    const { accessToken, refreshToken = '' } = tokensIn(row, environment);
    const secrets = [accessToken, refreshToken, code, verifier, CLIENT_SECRET];
    expect(secrets.map((secret) => secret.length > 20)).toEqual(secrets.map(() => true));
    const stored = await allRows(uswarm.database);
    const hidden = Buffer.from(row?.sealed ?? '').toString('latin1');
    const everything = [JSON.stringify(stored), hidden, ...log].join('\n');
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
    expect(log.some((line) => line.includes('completeIntegration'))).toBe(true);
  });

  it('an account deletion deletes the connection and schedules its revocation', async () => {
    const person = await uswarm.user();
    await connect(person, server, 'gmail');
    const connections = () => uswarm.database.selectFrom('integrations').select('user_id').execute();
    const before = (await connections()).map(({ user_id: id }) => id);
    await person.delete('/v1/auth/delete', {}, 204);
    const after = (await connections()).map(({ user_id: id }) => id);
    const [gone] = before.filter((id) => !after.includes(id));
    const waiting = await uswarm.database.selectFrom('integration_revocations').select('user_id').execute();
    expect(waiting.filter(({ user_id: id }) => id === gone)).toHaveLength(1);
  });

  it.each(['gmail', 'myspace', '..%2f', 'GMAIL'])(
    'a disconnect of a provider that is not connected returns integration_not_found: %s',
    async (provider) => {
      const person = await uswarm.user();
      expect(await person.refusal('DELETE', `/v1/integrations/${provider}`)).toBe('integration_not_found');
    },
  );

  it('a disconnect takes effect immediately', async () => {
    const person = await uswarm.user();
    await connect(person, server, 'gmail');
    await connect(person, server, 'google_calendar');
    await person.delete('/v1/integrations/gmail', undefined, 204);
    expect(await enabledOf(person)).toEqual(['google_calendar']);
    expect(await person.refusal('DELETE', '/v1/integrations/gmail')).toBe('integration_not_found');
  });
});

describe('an installation whose client the provider rejects', () => {
  let server: OAuthServer;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    server = await startProviderServer();
    const environment = integrationEnvironment(server, { client_secret: 'another one' });
    uswarm = await startTestOrchestrator({ environment });
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
  });

  it('gets another error than a wrong code, because the app cannot fix it', async () => {
    const user = await uswarm.user();
    const body = await authorized(user, server, 'gmail');
    expect(await user.refusal('POST', CALLBACK, body)).toBe('integration_exchange_failed');
  });
});

describe('an installation without configured integrations', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  it('returns the catalog with no app enabled, and rejects a connect with integration_not_configured', async () => {
    const user = await uswarm.user();
    expect(await enabledOf(user)).toEqual([]);
    expect(await user.refusal('POST', CONNECT, { provider: 'gmail' })).toBe('integration_not_configured');
  });
});

describe('an installation whose catalogue lacks the categories of tools', () => {
  it('starts with a warning that names the missing categories', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'catalog-'));
    const file = join(folder, 'catalog.json');
    const categories = ['research', 'knowledge', 'communication'].map((id) => ({ id, name: id, image_url: '' }));
    await writeFile(file, JSON.stringify({ categories, items: [] }));
    const log: string[] = [];
    const uswarm = await startTestOrchestrator({ environment: { INTEGRATION_CATALOG_FILE: file }, logTo: log });
    await uswarm.close();
    await rm(folder, { recursive: true });
    // Without configured providers, agents lack the tools in the category calendar_and_mail.
    const warnings = log.map((line) => JSON.parse(line) as object).filter((entry) => 'categories' in entry);
    expect(warnings).toMatchObject([{ categories: ['creation'] }]);
  });
});
