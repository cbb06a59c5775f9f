export type OwnProvider = 'google_calendar' | 'gmail';

/** Provider data that is the same in every installation. Settings can override each field. */
export interface ProviderDefinition {
  authorizationEndpoint: string;
  /** Issuer identifier in a callback's `iss` (RFC 9207). */
  issuer?: string;
  tokenEndpoint: string;
  /** Base URL for agent tools, without a trailing slash. */
  apiUrl?: string;
  /** RFC 7009. Revoking one token revokes everything that the user granted to this client. */
  revocationEndpoint?: string;
  scopes: readonly string[];
  /** Agent tools need these scopes. */
  toolScopes: readonly string[];
  /** Scopes that include others. */
  includedScopes?: Readonly<Record<string, readonly string[]>>;
  additionalParameters: Readonly<Record<string, string>>;
  /** Sends the client credentials in the body or with HTTP Basic. */
  clientAuthentication: 'body' | 'basic';
}

const google = {
  authorizationEndpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
  issuer: 'https://accounts.google.com',
  tokenEndpoint: 'https://oauth2.googleapis.com/token',
  revocationEndpoint: 'https://oauth2.googleapis.com/revoke',
  // Without `prompt: consent`, a user who reconnects gets no refresh token.
  additionalParameters: { access_type: 'offline', prompt: 'consent' },
  clientAuthentication: 'body',
} as const;

const GOOGLE = 'https://www.googleapis.com/auth/';
const GMAIL_MODIFY = ['gmail.readonly', 'gmail.compose', 'gmail.send', 'gmail.metadata'].map((name) => GOOGLE + name);

/** From Google's documentation as at November 2026. Other apps are tool servers. */
export const PROVIDERS: Readonly<Record<OwnProvider, ProviderDefinition>> = {
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
};
