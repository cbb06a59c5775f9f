import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';
import { LocalError } from '../local-error.js';
import { generateKey, loadKeys, type PrivateKey, saveKeys, SIGNING_ALGORITHM } from './oidc-keys.js';
import { answerSignIn, type Profile, SIGN_IN_PATH } from './oidc-sign-in.js';
import { createOidcStore } from './oidc-store.js';
import { answerTokenRequest, signIdToken, TOKEN_SECONDS, type TokenRequest } from './oidc-token.js';

/** Audience of development tokens: the app's client id. */
export const DEVELOPMENT_CLIENT_ID = 'uswarm-app';

export interface OidcIssuerOptions {
  /** Port for a separate server. Default: a free port. */
  port?: number;
  /** Path in the issuer URL, such as `/dev/issuer`. */
  path?: string;
  /** If set, no server is started, and the caller mounts `listener` below this URL. */
  issuerUrl?: string;
  /** Stores the keys between runs. Default: new keys on each start. */
  keysFile?: string;
  clients?: ClientMetadata[];
  /** Redirect URIs for the app, besides those on this machine. */
  redirectUris?: readonly string[];
  /** Gives tokens to programs on other machines too. */
  tokensForOtherMachines?: boolean;
}

export interface OidcIssuer {
  issuer: string;
  /**
   * Handles requests below the issuer's path and returns 404 for others. Mount it before middleware that reads bodies.
   * A mount that removes the path from `url` must keep `originalUrl`.
   */
  listener: RequestListener;
  issueToken(request: TokenRequest): Promise<string>;
  /** Creates a new signing key. The old keys are still published unless `keepOld` is false. */
  rotateKeys(options?: { keepOld?: boolean }): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts an OpenID provider for development. It accepts any identity, on the sign-in page in the authorization code
 * flow or with `POST <issuer>/dev/token {email, name}` from this machine.
 */
export async function startOidcIssuer(options: OidcIssuerOptions = {}): Promise<OidcIssuer> {
  const keys = await loadKeys(options.keysFile);
  if (options.issuerUrl !== undefined) {
    return createIssuer({
      ...options,
      issuer: options.issuerUrl.replace(/\/$/, ''),
      keys,
      close: async () => undefined,
    });
  }
  let listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new LocalError(`The development issuer cannot use port ${options.port}: it is in use.`, { cause })),
    );
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const path = (options.path ?? '').replace(/\/$/, '');
  const issuer = createIssuer({ ...options, issuer: `http://127.0.0.1:${port}${path}`, keys, close });
  listener = issuer.listener;
  return issuer;
}

interface IssuerParts {
  issuer: string;
  keys: PrivateKey[];
  keysFile?: string;
  clients?: ClientMetadata[];
  redirectUris?: readonly string[];
  tokensForOtherMachines?: boolean;
  close: () => Promise<void>;
}

function createIssuer({ clients, close, issuer, keysFile, redirectUris = [], ...parts }: IssuerParts): OidcIssuer {
  const prefix = new URL(issuer).pathname.replace(/\/$/, '');
  const base = baseConfiguration(clients ?? [developmentClient(redirectUris)], prefix);
  let keys = parts.keys;
  // A provider reads its keys once, so a rotation creates a new one with the same store.
  let provider = new Provider(issuer, { ...base.configuration, jwks: { keys } });

  const issueToken = (request: TokenRequest): Promise<string> => {
    const [key] = keys;
    if (key === undefined) throw new Error('the issuer has no key');
    return signIdToken(key, { issuer, audience: DEVELOPMENT_CLIENT_ID, ...request });
  };

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = originalUrl(request);
    const below = url.slice(prefix.length);
    const path = below.split('?')[0] ?? '';
    if (!url.startsWith(prefix) || !path.startsWith('/')) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`This is an OpenID provider: ${issuer}/.well-known/openid-configuration describes it.\n`);
    } else if (path === '/dev/token') {
      await answerTokenRequest(request, response, {
        issue: issueToken,
        anywhere: parts.tokensForOtherMachines === true,
      });
    } else {
      // The provider derives its mount path from the difference.
      Object.assign(request, { originalUrl: url, url: below });
      if (path.startsWith(SIGN_IN_PATH)) await answerSignIn(provider, base.accounts, request, response);
      else await provider.callback()(request, response);
    }
  };

  return {
    issuer,
    listener: (request, response) => {
      route(request, response).catch(() => {
        if (!response.headersSent) response.writeHead(400, { 'content-type': 'text/plain' });
        response.end('This sign-in has ended; start again from the app.\n');
      });
    },
    issueToken,
    rotateKeys: async ({ keepOld = true } = {}) => {
      keys = [await generateKey(), ...(keepOld ? keys : [])];
      saveKeys(keysFile, keys);
      provider = new Provider(issuer, { ...base.configuration, jwks: { keys } });
    },
    close,
  };
}

function originalUrl(request: IncomingMessage): string {
  return (request as { originalUrl?: string }).originalUrl ?? request.url ?? '/';
}

const developmentClient = (redirectUris: readonly string[]): ClientMetadata => ({
  client_id: DEVELOPMENT_CLIENT_ID,
  application_type: 'native',
  // A native client may use any port on these hosts, so a page on a development server may, too.
  redirect_uris: [
    ...['127.0.0.1', 'localhost', '[::1]'].flatMap((host) => [`http://${host}/callback`, `http://${host}/signed-in`]),
    'uswarm.app:/callback',
    ...redirectUris,
  ],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  id_token_signed_response_alg: SIGNING_ALGORITHM,
});

/** Sets all options for whose defaults the library prints warnings. */
function baseConfiguration(clients: ClientMetadata[], prefix: string) {
  const accounts = new Map<string, Profile>();
  const day = 24 * 60 * 60;
  const configuration: Configuration = {
    adapter: createOidcStore(),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    clients,
    clientBasedCORS: () => true,
    // Claims are in the ID token, as with the app's identity providers.
    conformIdTokenClaims: false,
    cookies: { keys: [crypto.randomUUID()] },
    // Name for a user whom a page signs in without the form.
    extraParams: ['login_name'],
    features: { devInteractions: { enabled: false } },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...accounts.get(accountId), email_verified: true }),
    }),
    interactions: { url: (_context, { uid }) => `${prefix}${SIGN_IN_PATH}${uid}` },
    ttl: {
      AccessToken: TOKEN_SECONDS,
      AuthorizationCode: 60,
      Grant: day,
      IdToken: TOKEN_SECONDS,
      Interaction: 60 * 60,
      RefreshToken: day,
      Session: day,
    },
  };
  return {
    configuration,
    accounts: {
      remember: (subject: string, profile: Profile) => void accounts.set(subject, profile),
      find: (subject: string) => accounts.get(subject),
    },
  };
}
