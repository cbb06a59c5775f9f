import type { ClientHabits } from './clients.js';
import type { GrantHabits } from './grants.js';

/** How a server describes its accounts. */
export interface MetadataHabits {
  /** `bare`: names the scheme only. `none`: status 401 without a header. */
  challenge: 'metadata' | 'bare' | 'none';
  /** The `scope` in the challenge. */
  challengeScope: string | undefined;
  /** Under which well-known address the metadata is; in `folder` only the challenge leads to it. */
  resourceMetadata: 'endpoint' | 'folder' | 'origin' | 'none';
  /** The resource that the metadata names. */
  resource: 'endpoint' | 'folder' | 'origin';
  /** `inserted` before the issuer's path, or `appended` to it. */
  serverMetadata: 'inserted' | 'appended' | 'openid-inserted' | 'openid-appended' | 'none';
  /** The issuer's path, such as `/login/oauth`. */
  issuerPath: string;
  /** Fields to replace in answers. */
  fields: Partial<Record<'resourceMetadata' | 'serverMetadata' | 'registration' | 'token', Record<string, unknown>>>;
}

/** In a folder, as Asana's. */
export const PATHS = { endpoint: '/v2/mcp', folder: '/v2', origin: '' };
export const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource';

/** A test server's documents, and the challenge that leads to them. */
export function createAccountMetadata(habits: MetadataHabits & ClientHabits & GrantHabits, origin: () => string) {
  const issuer = (): string => `${origin()}${habits.issuerPath}`;
  const resource = (): string => `${origin()}${PATHS[habits.resource]}`;

  const resourcePath = (): string | undefined =>
    habits.resourceMetadata === 'none' ? undefined : `${WELL_KNOWN_RESOURCE}${PATHS[habits.resourceMetadata]}`;

  function serverPath(): string | undefined {
    const { serverMetadata, issuerPath } = habits;
    if (serverMetadata === 'none') return undefined;
    const document = serverMetadata.startsWith('openid') ? 'openid-configuration' : 'oauth-authorization-server';
    const wellKnown = `/.well-known/${document}`;
    return serverMetadata.endsWith('inserted') ? `${wellKnown}${issuerPath}` : `${issuerPath}${wellKnown}`;
  }

  return {
    issuer,
    resource,

    /** The document at a path. */
    ofResource(path: string): object | undefined {
      if (path !== resourcePath()) return undefined;
      return {
        resource: resource(),
        authorization_servers: [issuer()],
        scopes_supported: habits.scopes,
        ...habits.fields.resourceMetadata,
      };
    },

    /** The document at a path. */
    ofServer(path: string): object | undefined {
      if (path !== serverPath()) return undefined;
      return {
        issuer: issuer(),
        authorization_endpoint: `${origin()}/authorize`,
        token_endpoint: `${origin()}/token`,
        revocation_endpoint: `${origin()}/revoke`,
        ...(habits.registration === 'none' ? {} : { registration_endpoint: `${origin()}/register` }),
        response_types_supported: ['code'],
        token_endpoint_auth_methods_supported: habits.clientAuthentication,
        ...(habits.pkce ? { code_challenge_methods_supported: ['S256'] } : {}),
        ...(habits.callbackIssuer === false ? {} : { authorization_response_iss_parameter_supported: true }),
        ...habits.fields.serverMetadata,
      };
    },

    /** The header `WWW-Authenticate`. */
    challenge(): string | undefined {
      const path = resourcePath();
      if (habits.challenge === 'none') return undefined;
      const isNamed = habits.challenge === 'metadata' && path !== undefined;
      const parameters = [
        'error="invalid_token"',
        ...(isNamed ? [`resource_metadata="${origin()}${path}"`] : []),
        ...(habits.challengeScope === undefined ? [] : [`scope="${habits.challengeScope}"`]),
      ];
      return `Bearer ${parameters.join(', ')}`;
    },
  };
}
