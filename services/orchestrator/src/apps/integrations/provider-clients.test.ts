import { describe, expect, it } from '@jest/globals';
import { IntegrationProvider, OAuthConfiguration } from '@uswarm/contract';
import { createProviderClients, IntegrationProviders, oauthConfiguration } from './provider-clients.js';
import type { OwnProvider } from './providers.js';

const own = {
  client_id: 'id',
  client_secret: 'secret',
  redirect_urls: ['https://app.example.com/callback', 'https://app.example.com/other'],
};

function configurationOf(provider: OwnProvider, change: object = {}): OAuthConfiguration {
  const client = createProviderClients(IntegrationProviders.parse({ [provider]: { ...own, ...change } })).get(provider);
  if (client === undefined) throw new Error('the provider is not configured');
  return oauthConfiguration(client, 'a-state');
}

describe('the OAuth configuration for an app', () => {
  it.each<[OwnProvider, string]>([
    ['google_calendar', 'https://www.googleapis.com/auth/calendar'],
    ['gmail', 'https://www.googleapis.com/auth/gmail.readonly'],
  ])('has the endpoints and scopes of %s, and a code challenge', (provider, scope) => {
    const configuration = configurationOf(provider);
    expect(OAuthConfiguration.parse(configuration)).toEqual(configuration);
    expect(configuration).toMatchObject({
      client_id: 'id',
      redirect_url: 'https://app.example.com/callback',
      authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
      token_endpoint: 'https://oauth2.googleapis.com/token',
      scopes: expect.arrayContaining([scope]),
      additional_parameters: { access_type: 'offline', prompt: 'consent', code_challenge_method: 'S256' },
    });
    expect(JSON.stringify(configuration)).not.toContain('secret');
  });
});

describe('provider settings', () => {
  it('override the defaults', () => {
    const change = {
      scopes: ['read'],
      pkce: false,
      additional_parameters: { prompt: 'login' },
      authorization_endpoint: 'https://login.example.com/authorize',
      token_endpoint: 'https://login.example.com/token',
    };
    expect(configurationOf('gmail', change)).toMatchObject({
      scopes: ['read'],
      additional_parameters: { prompt: 'login' },
      authorization_endpoint: change.authorization_endpoint,
      token_endpoint: change.token_endpoint,
    });
  });

  it('can disable revocation, and send it to another address', () => {
    const clients = createProviderClients(
      IntegrationProviders.parse({
        gmail: { ...own, revocation_endpoint: null },
        google_calendar: {
          ...own,
          redirect_urls: ['https://app.example.com/calendar'],
          revocation_endpoint: 'https://proxy.example.com/revoke',
        },
      }),
    );
    expect(clients.get('gmail')?.revocationEndpoint).toBeUndefined();
    expect(clients.get('google_calendar')?.revocationEndpoint).toBe('https://proxy.example.com/revoke');
  });

  it('enable only the configured providers', () => {
    expect([...createProviderClients(IntegrationProviders.parse({ gmail: own })).keys()]).toEqual(['gmail']);
  });

  it('are rejected for an app that is a tool server, and the error names its new place', () => {
    const apps = IntegrationProvider.options.filter((name) => !/^g(mail|oogle)/.test(name));
    expect(apps).toHaveLength(6);
    for (const app of apps) {
      const { error } = IntegrationProviders.safeParse({ gmail: own, [app]: own });
      expect(error?.issues.map(({ message }) => message)).toEqual([
        `${app} is a tool server: remove it here, and add it to toolServers.servers of the chart or to TOOL_SERVERS_FILE (docs/connections.md)`,
      ]);
    }
  });

  it.each<[string, object]>([
    ['an unknown provider', { myspace: own }],
    ['an empty client id', { gmail: { ...own, client_id: '' } }],
    ['no redirect URL', { gmail: { ...own, redirect_urls: [] } }],
    ['a token endpoint without TLS', { gmail: { ...own, token_endpoint: 'http://oauth2.googleapis.com/token' } }],
    ['a misspelled key', { gmail: { ...own, clientSecret: 'x' } }],
  ])('are rejected if they contain %s', (_what, settings) => {
    expect(IntegrationProviders.safeParse(settings).success).toBe(false);
  });

  it('accept an endpoint without TLS on the loopback interface', () => {
    expect(
      IntegrationProviders.safeParse({ gmail: { ...own, token_endpoint: 'http://127.0.0.1:1/token' } }).success,
    ).toBe(true);
  });
});

describe('two providers with one redirect URL', () => {
  const problemsOf = (gmail: string[], calendar: string[]): string[] =>
    IntegrationProviders.safeParse({
      gmail: { ...own, redirect_urls: gmail },
      google_calendar: { ...own, redirect_urls: calendar },
    }).error?.issues.map(({ path, message }) => `${path.join('.')} ${message.split(':')[0]}`) ?? [];
  const [first, second] = ['https://app.example.com/gmail', 'https://app.example.com/calendar'];

  it.each([
    ['the same URL', [first], [first]],
    ['one of several URLs', [first, second], ['https://app.example.com/', second]],
    ['the same URL, written in another way', [first], ['https://APP.example.com:443/gmail']],
  ])('are rejected at start-up if they share %s', (_what, gmail, calendar) => {
    const problems = problemsOf(gmail, calendar);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(
      /^(gmail|google_calendar) shares one of its redirect_urls with (gmail|google_calendar)$/,
    );
  });

  it('are accepted if each has its own URLs, even if one lists a URL twice', () => {
    expect(problemsOf([first, first], [second])).toEqual([]);
  });
});

describe('a provider whose code anyone could redeem', () => {
  const problemsOf = (change: object): string[] =>
    IntegrationProviders.safeParse({ gmail: { ...own, ...change } }).error?.issues.map(
      ({ path, message }) => `${path.join('.')} ${message.split(',')[0]}`,
    ) ?? [];
  const custom = { redirect_urls: ['https://app.example.com/callback', 'uswarm.app:/callback'] };
  const open = { client_secret: undefined };

  it.each<[string, object, string[]]>([
    ['with a scheme of an app', custom, ['gmail needs https in redirect_urls']],
    ['with plain http', { redirect_urls: ['http://127.0.0.1/cb'] }, ['gmail needs https in redirect_urls']],
    ['without a secret', open, ['gmail needs a client_secret']],
  ])('is rejected at start-up if it has no code challenge, %s', (_what, change, problems) => {
    expect(problemsOf({ ...change, pkce: false })).toEqual(problems);
  });

  it.each<[string, object]>([
    ['without a code challenge, with https and a secret', { pkce: false }],
    ['with a code challenge, with a scheme of an app and without a secret', { ...custom, ...open }],
  ])('%s is accepted', (_what, change) => {
    expect(problemsOf(change)).toEqual([]);
  });
});
