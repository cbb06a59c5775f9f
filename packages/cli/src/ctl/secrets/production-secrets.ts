import { randomBytes } from 'node:crypto';
import { generateCallKeys } from '@uswarm/service-kit';
import type { InputName, InputValues } from './secret-inputs.js';

/** A Secret of deploy/production/values.yaml. */
export interface ProductionSecret {
  name: string;
  /** Default: Opaque. */
  type?: string;
  /** Runtime pods need it in their namespace, with the same values. */
  inRuntimes?: true;
  /** Values that cannot be generated. */
  inputs: readonly InputName[];
  /** Generates all other values. */
  values(inputs: InputValues): Record<string, string>;
}

const KEY_BYTES = 32;

const random = (): string => randomBytes(KEY_BYTES).toString('hex');
/** Keys with an id can be rotated: docs/rotating-keys.md. */
const keyWithId = (): string => `k1:${random()}`;

export const PRODUCTION_SECRETS: readonly ProductionSecret[] = [
  { name: 'uswarm-database', inputs: ['DATABASE_URL'], values: ({ DATABASE_URL }) => ({ url: DATABASE_URL }) },
  {
    name: 'uswarm-realtime',
    inputs: ['REALTIME_REDIS_URL'],
    values: ({ REALTIME_REDIS_URL }) => ({ url: REALTIME_REDIS_URL }),
  },
  {
    name: 'uswarm-keys',
    inputs: [],
    values: () => ({
      'internal-api-key': keyWithId(),
      'mcp-signing-key': keyWithId(),
      'model-token-signing-key': keyWithId(),
      'model-calls-key': keyWithId(),
      'cursor-key': random(),
      'identity-hash-key': random(),
      'signature-secret': random(),
      'sync-token': random(),
      'searxng-secret': random(),
    }),
  },
  {
    name: 'uswarm-call-key',
    inputs: [],
    values() {
      const { privateKey, publicKey } = generateCallKeys();
      return { 'call-private-key': privateKey, 'call-public-key': publicKey };
    },
  },
  {
    name: 'uswarm-files',
    inputs: ['FILES_ACCESS_KEY_ID', 'FILES_SECRET_ACCESS_KEY'],
    values: (inputs) => ({
      'access-key-id': inputs.FILES_ACCESS_KEY_ID,
      'secret-access-key': inputs.FILES_SECRET_ACCESS_KEY,
    }),
  },
  {
    name: 'uswarm-model-providers',
    inputs: ['OPENAI_API_KEY'],
    values: ({ OPENAI_API_KEY }) => ({ OPENAI_API_KEY }),
  },
  {
    name: 'uswarm-integrations',
    inputs: ['INTEGRATION_PROVIDERS'],
    values: ({ INTEGRATION_PROVIDERS }) => ({
      'integration-providers': INTEGRATION_PROVIDERS,
      'integration-token-keys': `k1:${randomBytes(KEY_BYTES).toString('base64')}`,
    }),
  },
  {
    name: 'uswarm-tls',
    type: 'kubernetes.io/tls',
    inputs: ['TLS_CERTIFICATE', 'TLS_PRIVATE_KEY'],
    values: (inputs) => ({ 'tls.crt': inputs.TLS_CERTIFICATE, 'tls.key': inputs.TLS_PRIVATE_KEY }),
  },
  {
    name: 'registry',
    type: 'kubernetes.io/dockerconfigjson',
    inRuntimes: true,
    inputs: ['REGISTRY_SERVER', 'REGISTRY_USERNAME', 'REGISTRY_PASSWORD'],
    values: (inputs) => ({ '.dockerconfigjson': JSON.stringify({ auths: registryLogin(inputs) }) }),
  },
  {
    name: 'uswarm-runtime-stores',
    inRuntimes: true,
    inputs: ['RUNTIME_SPACES_KEY', 'RUNTIME_SPACES_SECRET'],
    values: (inputs) => ({
      SVC_SPACES_KEY: inputs.RUNTIME_SPACES_KEY,
      SVC_SPACES_SECRET: inputs.RUNTIME_SPACES_SECRET,
    }),
  },
];

function registryLogin(inputs: InputValues): object {
  const { REGISTRY_SERVER: server, REGISTRY_USERNAME: username, REGISTRY_PASSWORD: password } = inputs;
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  return { [server]: { username, password, auth } };
}
