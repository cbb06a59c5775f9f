import { describe, expect, it } from '@jest/globals';
import { type IntegrationProvider, OAuthConfiguration } from '@uswarm/contract';
import { createProviderClients, IntegrationProviders, oauthConfiguration } from './provider-clients.js';

const own = {
  client_id: 'id',
  client_secret: 'secret',
  redirect_urls: ['https://app.example.com/callback', 'https://app.example.com/other'],
};

function configurationOf(provider: IntegrationProvider, change: object = {}): OAuthConfiguration {
  const client = createProviderClients(IntegrationProviders.parse({ [provider]: { ...own, ...change } })).get(provider);
  if (client === undefined) throw new Error('the provider is not configured');
  return oauthConfiguration(client, 'a-state');
}

const GOOGLE = ['https://accounts.google.com/o/oauth2/v2/auth', 'https://oauth2.googleapis.com/token'] as const;
const S256 = { code_challenge_method: 'S256' };

describe('the OAuth configuration for an app', () => {
  it.each<[IntegrationProvider, string, string, Record<string, string>]>([
    ['google_calendar', ...GOOGLE, { access_type: 'offline', prompt: 'consent', ...S256 }],
    ['gmail', ...GOOGLE, { access_type: 'offline', prompt: 'consent', ...S256 }],
    [
      'slack',
      'https://slack.com/oauth/v2/authorize',
      'https://slack.com/api/oauth.v2.access',
      { user_scope: 'channels:read,channels:history,chat:write,search:read,users:read', ...S256 },
    ],
    [
      'jira',
      'https://auth.atlassian.com/authorize',
      'https://auth.atlassian.com/oauth/token',
      { audience: 'api.atlassian.com', prompt: 'consent' },
    ],
    ['notion', 'https://api.notion.com/v1/oauth/authorize', 'https://api.notion.com/v1/oauth/token', { owner: 'user' }],
    ['asana', 'https://app.asana.com/-/oauth_authorize', 'https://app.asana.com/-/oauth_token', S256],
    ['github', 'https://github.com/login/oauth/authorize', 'https://github.com/login/oauth/access_token', S256],
    ['zoom', 'https://zoom.us/oauth/authorize', 'https://zoom.us/oauth/token', S256],
  ])(
    'has the endpoints of %s, and a code challenge if the provider supports it',
    (provider, authorization, token, parameters) => {
      const configuration = configurationOf(provider);
      expect(OAuthConfiguration.parse(configuration)).toEqual(configuration);
      expect(configuration).toMatchObject({
        client_id: 'id',
        redirect_url: 'https://app.example.com/callback',
        authorization_endpoint: authorization,
        token_endpoint: token,
        additional_parameters: parameters,
      });
      expect(JSON.stringify(configuration)).not.toContain('secret');
    },
  );

  it.each<[IntegrationProvider, string]>([
    ['google_calendar', 'https://www.googleapis.com/auth/calendar'],
    ['gmail', 'https://www.googleapis.com/auth/gmail.readonly'],
    ['jira', 'offline_access'],
    ['asana', 'tasks:read'],
    ['github', 'repo'],
  ])('requests from %s the scope %s', (provider, scope) => {
    expect(configurationOf(provider).scopes).toContain(scope);
  });
});

describe('provider settings', () => {
  it('override the defaults', () => {
    const change = {
      scopes: ['read'],
      pkce: false,
      additional_parameters: { prompt: 'login' },
      authorization_endpoint: 'https://github.example.com/login/oauth/authorize',
      token_endpoint: 'https://github.example.com/login/oauth/access_token',
    };
    expect(configurationOf('github', change)).toMatchObject({
      scopes: ['read'],
      additional_parameters: { prompt: 'login' },
      authorization_endpoint: change.authorization_endpoint,
      token_endpoint: change.token_endpoint,
    });
  });

  it('can disable revocation, and enable it for a provider without a default endpoint', () => {
    const clients = createProviderClients(
      IntegrationProviders.parse({
        asana: { ...own, revocation_endpoint: null },
        jira: {
          ...own,
          redirect_urls: ['https://app.example.com/jira'],
          revocation_endpoint: 'https://proxy.example.com/revoke',
        },
      }),
    );
    expect(clients.get('asana')?.revocation).toBeUndefined();
    expect(clients.get('jira')?.revocation).toMatchObject({
      endpoint: 'https://proxy.example.com/revoke',
      style: 'standard',
    });
  });

  it('enable only the configured providers', () => {
    expect([...createProviderClients(IntegrationProviders.parse({ zoom: own })).keys()]).toEqual(['zoom']);
  });

  it.each<[string, object]>([
    ['an unknown provider', { myspace: own }],
    ['an empty client id', { zoom: { ...own, client_id: '' } }],
    ['no redirect URL', { zoom: { ...own, redirect_urls: [] } }],
    ['a token endpoint without TLS', { zoom: { ...own, token_endpoint: 'http://zoom.us/oauth/token' } }],
    ['a misspelled key', { zoom: { ...own, clientSecret: 'x' } }],
  ])('are rejected if they contain %s', (_what, settings) => {
    expect(IntegrationProviders.safeParse(settings).success).toBe(false);
  });

  it('accept an endpoint without TLS on the loopback interface', () => {
    expect(
      IntegrationProviders.safeParse({ zoom: { ...own, token_endpoint: 'http://127.0.0.1:1/token' } }).success,
    ).toBe(true);
  });
});

describe('two providers with one redirect URL', () => {
  const problemsOf = (zoom: string[], asana: string[]): string[] =>
    IntegrationProviders.safeParse({
      zoom: { ...own, redirect_urls: zoom },
      asana: { ...own, redirect_urls: asana },
    }).error?.issues.map(({ path, message }) => `${path.join('.')} ${message.split(':')[0]}`) ?? [];
  const [first, second] = ['https://app.example.com/zoom', 'https://app.example.com/asana'];

  it.each([
    ['the same URL', [first], [first]],
    ['one of several URLs', [first, second], ['https://app.example.com/', second]],
    ['the same URL, written in another way', [first], ['https://APP.example.com:443/zoom']],
  ])('are rejected at start-up if they share %s', (_what, zoom, asana) => {
    const problems = problemsOf(zoom, asana);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^(asana|zoom) shares one of its redirect_urls with (asana|zoom)$/);
  });

  it('are accepted if each has its own URLs, even if one lists a URL twice', () => {
    expect(problemsOf([first, first], [second])).toEqual([]);
  });
});

describe('a provider whose code anyone could redeem', () => {
  const problemsOf = (provider: IntegrationProvider, change: object): string[] =>
    IntegrationProviders.safeParse({ [provider]: { ...own, ...change } }).error?.issues.map(
      ({ path, message }) => `${path.join('.')} ${message.split(',')[0]}`,
    ) ?? [];
  const custom = { redirect_urls: ['https://app.example.com/callback', 'uswarm.app:/callback'] };
  const open = { client_secret: undefined };

  it.each<[string, IntegrationProvider, object, string[]]>([
    ['by default, with a scheme of an app', 'jira', custom, ['jira needs https in redirect_urls']],
    [
      'by default, with plain http',
      'notion',
      { redirect_urls: ['http://127.0.0.1/cb'] },
      ['notion needs https in redirect_urls'],
    ],
    ['by default, without a secret', 'notion', open, ['notion needs a client_secret']],
    [
      'by its settings, with a scheme of an app',
      'github',
      { ...custom, pkce: false },
      ['github needs https in redirect_urls'],
    ],
    ['by its settings, without a secret', 'github', { ...open, pkce: false }, ['github needs a client_secret']],
  ])('%s, is rejected at start-up', (_what, provider, change, problems) => {
    expect(problemsOf(provider, change)).toEqual(problems);
  });

  it.each<[string, IntegrationProvider, object]>([
    ['without a code challenge, with https and a secret', 'jira', {}],
    ['with a code challenge, with a scheme of an app and without a secret', 'github', { ...custom, ...open }],
    ['with a code challenge by its settings', 'jira', { ...custom, ...open, pkce: true }],
  ])('%s is accepted', (_what, provider, change) => {
    expect(problemsOf(provider, change)).toEqual([]);
  });
});
