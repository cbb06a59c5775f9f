import { createHash } from 'node:crypto';
import {
  type AccountAnswer,
  type AccountClient,
  type AccountClients,
  type FormRequest,
  randomText,
} from './clients.js';

/** How a server asks for consent, and issues tokens. */
export interface GrantHabits {
  /** All scopes; others are refused. */
  scopes: readonly string[];
  /** Verifies code challenges, and requires them. */
  pkce: boolean;
  /** The `iss` of callbacks. True: the issuer in the metadata. */
  callbackIssuer: boolean | string;
  /** Refuses requests without the parameter `resource`. Another resource is always refused. */
  needsResource: boolean;
  /** `form`: unless the request accepts JSON (GitHub). `nested`: new tokens are in `authed_user` (Slack). */
  tokenAnswer: 'json' | 'form' | 'nested';
  /** `github` and `slack` answer errors with status 200 and separate codes. */
  tokenErrors: 'standard' | 'github' | 'slack';
  /** `rotating`: each refresh token can be used once. `family`: using one again revokes all of its tokens. */
  refreshTokens: 'none' | 'reusable' | 'rotating' | 'family';
  /** Seconds until access tokens expire. Undefined: they do not, and answers do not say. */
  expiresInS: number | undefined;
}

/** A user's permission for a client. */
interface Grant {
  clientId: string;
  account: string;
  scopes: readonly string[];
  revoked: boolean;
}

export interface IssuedToken {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly grant: Readonly<Grant>;
  readonly expiresAtMs: number;
}

interface Token extends IssuedToken {
  grant: Grant;
  refreshed: boolean;
}

interface Code {
  grant: Grant;
  redirectUrl: string;
  challenge: string | null;
  used: boolean;
}

export interface Consent {
  /** Default: `ada` */
  account?: string;
  /** The user declines. */
  denied?: boolean;
}

type TokenProblem = 'code' | 'refresh token' | 'client' | 'resource' | 'grant type';

const same = (code: string) => ({ standard: code, github: code, slack: code });
/** A problem's error codes in the three styles. */
const ERROR_CODES: Record<TokenProblem, Record<GrantHabits['tokenErrors'], string>> = {
  code: { standard: 'invalid_grant', github: 'bad_verification_code', slack: 'invalid_code' },
  'refresh token': { standard: 'invalid_grant', github: 'bad_refresh_token', slack: 'invalid_refresh_token' },
  client: { standard: 'invalid_client', github: 'incorrect_client_credentials', slack: 'bad_client_secret' },
  resource: same('invalid_target'),
  'grant type': { ...same('unsupported_grant_type'), slack: 'invalid_grant_type' },
};

interface Addresses {
  issuer: () => string;
  resource: () => string;
}

/** A test server's codes and tokens. Habits may change at any time. */
export function createAccountGrants(habits: GrantHabits, clients: AccountClients, { issuer, resource }: Addresses) {
  const tokens: Token[] = [];
  const codes = new Map<string, Code>();

  const isResource = (named: string | null): boolean => (named === null ? !habits.needsResource : named === resource());

  function problemOf(parameters: URLSearchParams, scopes: readonly string[]): string | undefined {
    if (parameters.get('response_type') !== 'code') return 'unsupported_response_type';
    const challenges = parameters.has('code_challenge') && parameters.get('code_challenge_method') === 'S256';
    if (habits.pkce && !challenges) return 'invalid_request';
    if (!isResource(parameters.get('resource'))) return 'invalid_target';
    return scopes.every((scope) => habits.scopes.includes(scope)) ? undefined : 'invalid_scope';
  }

  /** @throws Error if a server would show the user an error page */
  function authorize(parameters: URLSearchParams, { account = 'ada', denied = false }: Consent = {}): URL {
    const value = (name: string): string => parameters.get(name) ?? '';
    const client = clients.find(value('client_id'));
    if (client === undefined) throw new Error('unknown client_id');
    const redirectUrl = value('redirect_uri');
    if (!client.redirectUrls.includes(redirectUrl)) throw new Error('redirect_uri is not registered');
    const callback = new URL(redirectUrl);
    const { callbackIssuer } = habits;
    if (parameters.has('state')) callback.searchParams.set('state', value('state'));
    if (callbackIssuer !== false) callback.searchParams.set('iss', callbackIssuer === true ? issuer() : callbackIssuer);
    const scopes = value('scope').split(' ').filter(Boolean);
    const error = denied ? 'access_denied' : problemOf(parameters, scopes);
    if (error === undefined) {
      const code = randomText('code');
      const grant = { clientId: client.clientId, account, scopes, revoked: false };
      codes.set(code, { grant, redirectUrl, challenge: parameters.get('code_challenge'), used: false });
      callback.searchParams.set('code', code);
    } else callback.searchParams.set('error', error);
    return callback;
  }

  function issue(grant: Grant, refreshToken: string | undefined): Token {
    const { expiresInS } = habits;
    const expiresAtMs = expiresInS === undefined ? Infinity : Date.now() + expiresInS * 1_000;
    const token = { accessToken: randomText('access'), refreshToken, grant, expiresAtMs, refreshed: false };
    tokens.push(token);
    return token;
  }

  function exchange({ clientId }: AccountClient, fields: URLSearchParams): Token | TokenProblem {
    const code = codes.get(fields.get('code') ?? '');
    if (code === undefined || code.grant.clientId !== clientId) return 'code';
    if (code.used) {
      // RFC 6749 §4.1.2
      code.grant.revoked = true;
      return 'code';
    }
    const verifier = fields.get('code_verifier') ?? '';
    const isVerified = createHash('sha256').update(verifier).digest('base64url') === code.challenge;
    if (code.redirectUrl !== fields.get('redirect_uri') || (habits.pkce && !isVerified)) return 'code';
    code.used = true;
    return issue(code.grant, habits.refreshTokens === 'none' ? undefined : randomText('refresh'));
  }

  function refresh({ clientId }: AccountClient, fields: URLSearchParams): Token | TokenProblem {
    const named = fields.get('refresh_token');
    const used = tokens.find(({ refreshToken }) => refreshToken !== undefined && refreshToken === named);
    if (used === undefined || used.grant.clientId !== clientId || used.grant.revoked) return 'refresh token';
    if (habits.refreshTokens === 'reusable') return issue(used.grant, undefined);
    if (used.refreshed) {
      if (habits.refreshTokens === 'family') used.grant.revoked = true;
      return 'refresh token';
    }
    used.refreshed = true;
    return issue(used.grant, randomText('refresh'));
  }

  return {
    tokens: tokens as readonly IssuedToken[],
    authorize,

    /** The token endpoint. */
    token(request: FormRequest): AccountAnswer {
      const { fields, accept } = request;
      const type = fields.get('grant_type');
      const client = clients.authenticated(request);
      if (client === undefined) return errorAnswer(habits, 'client', accept);
      if (!isResource(fields.get('resource'))) return errorAnswer(habits, 'resource', accept);
      if (type !== 'authorization_code' && type !== 'refresh_token') return errorAnswer(habits, 'grant type', accept);
      const isNew = type === 'authorization_code';
      const token = isNew ? exchange(client, fields) : refresh(client, fields);
      return typeof token === 'string'
        ? errorAnswer(habits, token, accept)
        : tokenAnswer(habits, token, { isNew, accept });
    },

    /** The revocation endpoint (RFC 7009). It ends the whole grant. */
    revokeToken(request: FormRequest): AccountAnswer {
      const client = clients.authenticated(request);
      if (client === undefined) return errorAnswer(habits, 'client', request.accept);
      const named = request.fields.get('token') ?? '';
      for (const { accessToken, refreshToken, grant } of tokens) {
        const isNamed = accessToken === named || refreshToken === named;
        if (isNamed && grant.clientId === client.clientId) grant.revoked = true;
      }
      return { status: 200, body: {} };
    },

    /** @param account default: all */
    revoke(account?: string): void {
      for (const { grant } of tokens) if (account === undefined || grant.account === account) grant.revoked = true;
    },

    /** The grant to which a valid access token belongs. */
    grantOf(accessToken: string): Readonly<Grant> | undefined {
      const token = tokens.find((one) => one.accessToken === accessToken);
      return token === undefined || token.grant.revoked || token.expiresAtMs <= Date.now() ? undefined : token.grant;
    },
  };
}

const JSON_TYPE = 'application/json';

function tokenAnswer(
  { tokenErrors, tokenAnswer: style, expiresInS }: GrantHabits,
  { accessToken, refreshToken, grant }: Token,
  { isNew, accept }: { isNew: boolean; accept: string | undefined },
): AccountAnswer {
  const body = {
    access_token: accessToken,
    token_type: 'bearer',
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(expiresInS === undefined ? {} : { expires_in: expiresInS }),
    scope: grant.scopes.join(tokenErrors === 'standard' ? ' ' : ','),
  };
  if (style === 'form') return { status: 200, body, isForm: accept !== JSON_TYPE };
  if (style === 'json') return { status: 200, body };
  return { status: 200, body: isNew ? { ok: true, authed_user: body } : { ok: true, ...body } };
}

function errorAnswer(
  { tokenErrors: style }: GrantHabits,
  problem: TokenProblem,
  accept: string | undefined,
): AccountAnswer {
  const error = ERROR_CODES[problem][style];
  if (style === 'standard') return { status: problem === 'client' ? 401 : 400, body: { error } };
  if (style === 'slack') return { status: 200, body: { ok: false, error } };
  return { status: 200, body: { error }, isForm: accept !== JSON_TYPE };
}
