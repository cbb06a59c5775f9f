import type { oas31 } from 'zod-openapi';
import type { RouteAuth, RouteDefinition } from '../routes/index.js';

/** Authentication: security schemes and headers. */

const header = (name: string, description: string): oas31.SecuritySchemeObject => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
});

const CREDENTIAL_SCHEMES: Record<string, oas31.SecuritySchemeObject> = {
  idToken: header('X-Token', 'An ID token of the identity provider. The mobile app uses this header.'),
  bearerIdToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The same ID token, for development tools. Sign-in, sign-up, logout and account deletion reject it.',
  },
  apiToken: header(
    'X-Token',
    'An API token that the user has created for a program. Operations that list it accept it if its scopes and workspaces permit them.',
  ),
  bearerApiToken: { type: 'http', scheme: 'bearer', description: 'The same API token.' },
};

const BYPASS_SCHEMES: Record<string, oas31.SecuritySchemeObject> = {
  e2eToken: header('X-E2E-Token', 'The end-to-end bypass; available in non-production systems only.'),
  e2eUid: header('X-E2E-UID', 'The user id of the end-to-end bypass.'),
  e2eEmail: header('X-E2E-Email', 'The e-mail address of the end-to-end bypass.'),
  e2eName: header('X-E2E-Name', 'The name of the end-to-end bypass.'),
};

const BYPASS: oas31.SecurityRequirementObject = { e2eToken: [], e2eUid: [], e2eEmail: [], e2eName: [] };

export const securitySchemes = ({ bypass = false }: DocumentOptions): Record<string, oas31.SecuritySchemeObject> =>
  bypass ? { ...CREDENTIAL_SCHEMES, ...BYPASS_SCHEMES } : CREDENTIAL_SCHEMES;

const REQUIREMENTS: Record<RouteAuth, oas31.SecurityRequirementObject[]> = {
  public: [],
  user: [{ idToken: [] }, { bearerIdToken: [] }],
  identity: [{ idToken: [] }],
};

const API_TOKENS: oas31.SecurityRequirementObject[] = [{ apiToken: [] }, { bearerApiToken: [] }];

/** An installation's settings that change its documents. */
export interface DocumentOptions {
  /** Product version. Default: this package's. */
  version?: string;
  /** Where clients reach the installation. Default: local mode. */
  publicUrl?: string | undefined;
  /** Describes the end-to-end bypass, which production does not have. */
  bypass?: boolean;
}

export function securityOf(
  { auth, scope = 'session' }: Pick<RouteDefinition, 'auth' | 'scope'>,
  { bypass = false }: DocumentOptions,
): oas31.SecurityRequirementObject[] {
  const requirements = scope === 'session' ? REQUIREMENTS[auth] : [...REQUIREMENTS[auth], ...API_TOKENS];
  return bypass && auth !== 'public' ? [...requirements, BYPASS] : requirements;
}

const clientHeader = (name: string, description: string): oas31.ParameterObject => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
});

/**
 * Further client headers, by component name. Operations do not refer to them: a generated method would have six more
 * arguments, although a client sets them once, where it sends requests.
 */
export const headerParameters: Record<string, oas31.ParameterObject> = {
  Signature: clientHeader(
    'X-Signature',
    'Hex HMAC-SHA256 of `<token>:<timestamp>` under the shared secret; `<token>` is the credential that ' +
      'authenticates, `<timestamp>` is X-Timestamp as sent. Required if the server is configured to require it. ' +
      'It proves that the app sent the request; it does not authenticate the user.',
  ),
  Timestamp: clientHeader(
    'X-Timestamp',
    'Unix seconds, Unix milliseconds or ISO 8601; up to 300 seconds of clock skew are allowed.',
  ),
  DeviceInfo: clientHeader('X-Device-Info', 'The device and its operating system.'),
  DeviceId: clientHeader('X-Device-ID', 'Identifies the device among the devices of the user.'),
  Version: clientHeader('X-Version', 'The version of the application.'),
  Timezone: clientHeader(
    'X-Timezone',
    'The time zone of the device: an IANA name such as `Europe/Berlin`. A UTC offset or a Windows name is also understood; other values are ignored.',
  ),
};
