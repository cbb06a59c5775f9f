import { createHash, randomBytes } from 'node:crypto';
import type { OAuthConfiguration } from '@uswarm/contract';
import { type GoogleServer, type OAuthServer, startGoogleServer, startOAuthServer } from '@uswarm/dev-servers';
import type { Api } from './test-client.js';

const SCOPES = ['openid', 'offline_access'];
const REDIRECT = 'https://app.example.com/callback';
const APPS = { google_calendar: '/calendar/v3', gmail: '' } as const;
export type App = keyof typeof APPS;

/** Servers for the apps that users can connect. */
export interface ConnectedApps {
  oauth: OAuthServer;
  google: GoogleServer;
  /** The value of `INTEGRATION_PROVIDERS` for an orchestrator that uses these servers. */
  providers: string;
  /** Connects an app as the user's phone does. `account` selects one of several accounts. */
  connect(api: Api, app: App, account?: string): Promise<void>;
  close(): Promise<void>;
}

/** @param options.severalAccounts each account on the OAuth server has its own calendar and mailbox. Default: false */
export async function startConnectedApps({ severalAccounts = false } = {}): Promise<ConnectedApps> {
  const oauth = await startOAuthServer({
    clients: Object.keys(APPS).map((app) => ({
      client_id: app,
      client_secret: 's',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [`${REDIRECT}/${app}`],
      token_endpoint_auth_method: 'client_secret_post' as const,
    })),
  });
  const { accepts, accountOf } = oauth;
  const google = await startGoogleServer(severalAccounts ? { accepts, accountOf } : { accepts });
  const providers = Object.entries(APPS).map(([app, path]) => [
    app,
    {
      client_id: app,
      client_secret: 's',
      redirect_urls: [`${REDIRECT}/${app}`],
      authorization_endpoint: oauth.authorizationEndpoint,
      token_endpoint: oauth.tokenEndpoint,
      revocation_endpoint: oauth.revocationEndpoint,
      scopes: SCOPES,
      additional_parameters: { prompt: 'consent' },
      api_url: `${google.url}${path}`,
    },
  ]);
  return {
    oauth,
    google,
    providers: JSON.stringify(Object.fromEntries(providers)),
    async connect(api, provider, account) {
      const { body } = await api('POST', '/v1/integrations/connect', { provider });
      const {
        client_id: clientId,
        redirect_url: redirectUrl,
        additional_parameters: more,
      } = body as OAuthConfiguration;
      const verifier = randomBytes(32).toString('base64url');
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      const parameters = { ...more, code_challenge: challenge };
      const who = account === undefined ? {} : { accountId: account };
      const code = await oauth.authorize({ clientId, redirectUrl, scopes: SCOPES, parameters, ...who });
      const { status } = await api('POST', '/v1/integrations/callback', {
        provider,
        authorization_code: code,
        code_verifier: verifier,
        redirect_url: redirectUrl,
      });
      if (status !== 204) throw new Error(`the app was not connected: ${status}`);
    },
    async close() {
      await google.close();
      await oauth.close();
    },
  };
}
