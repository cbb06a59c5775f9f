import type { IntegrationProvider } from '@uswarm/contract';

/** How a provider wants to be told that a token is not used any more. */
export interface Revocation {
  endpoint: string;
  /** `standard` is RFC 7009; the others are the provider's own ways. */
  style: 'standard' | 'github' | 'notion' | 'slack';
  /** Which of the two tokens it takes, where there are both. */
  token: 'access' | 'refresh';
  /** Everything that the user granted this client goes with one token. */
  wholeGrant: boolean;
  /** HTTP statuses, besides OAuth's own codes, which say that the token is worth nothing any more. */
  goneStatus?: readonly number[];
}

/** What is the same about a provider wherever uswarm runs; settings may replace any of it. */
export interface ProviderDefinition {
  authorizationEndpoint: string;
  /** Its identifier, as it is in `iss` of its callbacks (RFC 9207). */
  issuer?: string;
  tokenEndpoint: string;
  revocation?: Revocation;
  scopes: readonly string[];
  /** What goes into the authorization URL besides the parameters of OAuth itself. */
  additionalParameters: Readonly<Record<string, string>>;
  /** Whether the provider takes a code challenge (S256). */
  pkce: boolean;
  /** How we tell who we are: in the body, or by HTTP Basic. */
  clientAuthentication: 'body' | 'basic';
  tokenRequest: 'form' | 'json';
  headers?: Readonly<Record<string, string>>;
  /** Error codes, besides OAuth's own, which say that a refresh token is worth nothing any more. */
  grantGone?: readonly string[];
}

const google = {
  authorizationEndpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
  issuer: 'https://accounts.google.com',
  tokenEndpoint: 'https://oauth2.googleapis.com/token',
  revocation: {
    endpoint: 'https://oauth2.googleapis.com/revoke',
    style: 'standard',
    token: 'refresh',
    wholeGrant: true,
  },
  // Without consent, a user who connects again gets no refresh token.
  additionalParameters: { access_type: 'offline', prompt: 'consent' },
  pkce: true,
  clientAuthentication: 'body',
  tokenRequest: 'form',
} as const;

/** As the providers document them in November 2026. */
export const PROVIDERS: Readonly<Record<IntegrationProvider, ProviderDefinition>> = {
  google_calendar: { ...google, scopes: ['https://www.googleapis.com/auth/calendar'] },
  gmail: {
    ...google,
    scopes: ['https://www.googleapis.com/auth/gmail.readonly', 'https://www.googleapis.com/auth/gmail.compose'],
  },
  slack: {
    authorizationEndpoint: 'https://slack.com/oauth/v2/authorize',
    tokenEndpoint: 'https://slack.com/api/oauth.v2.access',
    revocation: { endpoint: 'https://slack.com/api/auth.revoke', style: 'slack', token: 'access', wholeGrant: false },
    // `scope` asks for a bot; what acts as the user is asked for by a parameter of Slack's own.
    scopes: [],
    additionalParameters: { user_scope: 'channels:read,channels:history,chat:write,search:read,users:read' },
    pkce: true,
    clientAuthentication: 'basic',
    tokenRequest: 'form',
  },
  jira: {
    authorizationEndpoint: 'https://auth.atlassian.com/authorize',
    tokenEndpoint: 'https://auth.atlassian.com/oauth/token',
    scopes: ['read:jira-work', 'write:jira-work', 'read:jira-user', 'offline_access'],
    additionalParameters: { audience: 'api.atlassian.com', prompt: 'consent' },
    pkce: false,
    clientAuthentication: 'body',
    tokenRequest: 'json',
    grantGone: ['unauthorized_client'],
  },
  notion: {
    authorizationEndpoint: 'https://api.notion.com/v1/oauth/authorize',
    tokenEndpoint: 'https://api.notion.com/v1/oauth/token',
    revocation: {
      endpoint: 'https://api.notion.com/v1/oauth/revoke',
      style: 'notion',
      token: 'access',
      wholeGrant: false,
    },
    // What an integration may do is set where it is registered.
    scopes: [],
    additionalParameters: { owner: 'user' },
    pkce: false,
    clientAuthentication: 'basic',
    tokenRequest: 'json',
    headers: { 'notion-version': '2025-09-03' },
  },
  asana: {
    authorizationEndpoint: 'https://app.asana.com/-/oauth_authorize',
    tokenEndpoint: 'https://app.asana.com/-/oauth_token',
    revocation: {
      endpoint: 'https://app.asana.com/-/oauth_revoke',
      style: 'standard',
      token: 'refresh',
      wholeGrant: false,
    },
    scopes: ['projects:read', 'tasks:read', 'tasks:write', 'users:read', 'workspaces:read'],
    additionalParameters: {},
    pkce: true,
    clientAuthentication: 'body',
    tokenRequest: 'form',
  },
  github: {
    authorizationEndpoint: 'https://github.com/login/oauth/authorize',
    tokenEndpoint: 'https://github.com/login/oauth/access_token',
    revocation: {
      endpoint: 'https://api.github.com/applications/{client_id}/grant',
      style: 'github',
      token: 'access',
      wholeGrant: true,
      goneStatus: [404, 422],
    },
    scopes: ['repo', 'read:user'],
    additionalParameters: {},
    pkce: true,
    clientAuthentication: 'body',
    tokenRequest: 'form',
    grantGone: ['bad_refresh_token'],
  },
  zoom: {
    authorizationEndpoint: 'https://zoom.us/oauth/authorize',
    tokenEndpoint: 'https://zoom.us/oauth/token',
    revocation: { endpoint: 'https://zoom.us/oauth/revoke', style: 'standard', token: 'access', wholeGrant: false },
    // What an app may do is set where it is registered.
    scopes: [],
    additionalParameters: {},
    pkce: true,
    clientAuthentication: 'basic',
    tokenRequest: 'form',
  },
};
