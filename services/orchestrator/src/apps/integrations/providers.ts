import type { IntegrationProvider } from '@uswarm/contract';

export interface Revocation {
  endpoint: string;
  /** `standard` is RFC 7009; the others are provider-specific. */
  style: 'standard' | 'github' | 'notion' | 'slack';
  /** Sent if both tokens exist. */
  token: 'access' | 'refresh';
  /** Revoking one token revokes everything that the user granted to this client. */
  wholeGrant: boolean;
  /** HTTP statuses, in addition to OAuth error codes, that mean the token is no longer valid. */
  alreadyRevokedStatuses?: readonly number[];
}

/** Provider data that is the same in every installation. Settings can override each field. */
export interface ProviderDefinition {
  authorizationEndpoint: string;
  /** Issuer identifier in a callback's `iss` (RFC 9207). */
  issuer?: string;
  tokenEndpoint: string;
  /** Base URL for agent tools, without a trailing slash. */
  apiUrl?: string;
  revocation?: Revocation;
  scopes: readonly string[];
  /** Agent tools need these scopes. Default: all requested ones. */
  toolScopes?: readonly string[];
  /** Scopes that include others. */
  includedScopes?: Readonly<Record<string, readonly string[]>>;
  additionalParameters: Readonly<Record<string, string>>;
  /** True for PKCE with S256. */
  pkce: boolean;
  /** Sends the client credentials in the body or with HTTP Basic. */
  clientAuthentication: 'body' | 'basic';
  tokenRequest: 'form' | 'json';
  headers?: Readonly<Record<string, string>>;
  /** Error codes, in addition to OAuth's, that mean a refresh token is no longer valid. */
  revokedGrantCodes?: readonly string[];
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
  // Without `prompt: consent`, a user who reconnects gets no refresh token.
  additionalParameters: { access_type: 'offline', prompt: 'consent' },
  pkce: true,
  clientAuthentication: 'body',
  tokenRequest: 'form',
} as const;

const GOOGLE = 'https://www.googleapis.com/auth/';
const GMAIL_MODIFY = ['gmail.readonly', 'gmail.compose', 'gmail.send', 'gmail.metadata'].map((name) => GOOGLE + name);

/** From the providers' documentation as at November 2026. */
export const PROVIDERS: Readonly<Record<IntegrationProvider, ProviderDefinition>> = {
  google_calendar: {
    ...google,
    apiUrl: 'https://www.googleapis.com/calendar/v3',
    scopes: [`${GOOGLE}calendar`],
    toolScopes: [`${GOOGLE}calendar.events`],
    includedScopes: {
      [`${GOOGLE}calendar`]: [`${GOOGLE}calendar.events`],
      'https://www.google.com/calendar/feeds': [`${GOOGLE}calendar`, `${GOOGLE}calendar.events`],
      [`${GOOGLE}calendar.events.owned`]: [`${GOOGLE}calendar.events`],
    },
  },
  gmail: {
    ...google,
    apiUrl: 'https://gmail.googleapis.com',
    scopes: [`${GOOGLE}gmail.readonly`, `${GOOGLE}gmail.compose`],
    toolScopes: [`${GOOGLE}gmail.readonly`, `${GOOGLE}gmail.compose`],
    includedScopes: {
      'https://mail.google.com': [...GMAIL_MODIFY, `${GOOGLE}gmail.modify`],
      [`${GOOGLE}gmail.modify`]: GMAIL_MODIFY,
      [`${GOOGLE}gmail.compose`]: [`${GOOGLE}gmail.send`],
    },
  },
  slack: {
    authorizationEndpoint: 'https://slack.com/oauth/v2/authorize',
    tokenEndpoint: 'https://slack.com/api/oauth.v2.access',
    revocation: { endpoint: 'https://slack.com/api/auth.revoke', style: 'slack', token: 'access', wholeGrant: false },
    // Slack uses `scope` for bot tokens and the parameter `user_scope` for user tokens.
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
    revokedGrantCodes: ['unauthorized_client'],
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
    // Permissions are configured where the integration is registered.
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
    // For apps that are registered with full permissions.
    includedScopes: { default: ['projects:read', 'tasks:read', 'tasks:write', 'users:read', 'workspaces:read'] },
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
      alreadyRevokedStatuses: [404, 422],
    },
    scopes: ['repo', 'read:user'],
    includedScopes: { user: ['read:user', 'user:email'] },
    additionalParameters: {},
    pkce: true,
    clientAuthentication: 'body',
    tokenRequest: 'form',
    revokedGrantCodes: ['bad_refresh_token'],
  },
  zoom: {
    authorizationEndpoint: 'https://zoom.us/oauth/authorize',
    tokenEndpoint: 'https://zoom.us/oauth/token',
    revocation: { endpoint: 'https://zoom.us/oauth/revoke', style: 'standard', token: 'access', wholeGrant: false },
    // Permissions are configured where the app is registered.
    scopes: [],
    additionalParameters: {},
    pkce: true,
    clientAuthentication: 'basic',
    tokenRequest: 'form',
  },
};
