import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { generateCallKeys } from '@uswarm/service-kit';
import { DEVELOPMENT_CLIENT_ID } from '@uswarm/dev-servers';
import { ISSUER_ID } from './seed.js';

const secret = (): string => randomBytes(24).toString('hex');

interface Surroundings {
  databaseUrl: string;
  redisUrl: string;
  issuer: string;
  signatureSecret: string;
  /** A folder for uploads; nothing is uploaded. */
  directory: string;
  pool: number;
}

/**
 * Production settings, with token checks, signatures and events, but without rate limits and without workers for turns,
 * runtimes and maintenance jobs.
 */
export function orchestratorEnvironment(given: Surroundings): Record<string, string> {
  return {
    DATABASE_URL: given.databaseUrl,
    DATABASE_MAX_CONNECTIONS: String(given.pool),
    REALTIME_REDIS_URL: given.redisUrl,
    HTTP_HOST: '127.0.0.1',
    INTERNAL_HOST: '127.0.0.1',
    INTERNAL_PORT: '0',
    OPS_PORT: '0',
    OIDC_ISSUERS: JSON.stringify([{ id: ISSUER_ID, issuer: given.issuer, audience: DEVELOPMENT_CLIENT_ID }]),
    SIGNATURE_MODE: 'required',
    SIGNATURE_SECRET: given.signatureSecret,
    INTERNAL_API_KEY: `bench:${secret()}`,
    MODEL_CALLS_KEY: `bench:${secret()}`,
    CURSOR_KEY: secret(),
    IDENTITY_HASH_KEY: secret(),
    CALL_PRIVATE_KEY: generateCallKeys().privateKey,
    RUNTIME_DRIVER: 'process',
    RUNTIME_PROGRAM: fileURLToPath(new URL('../../../services/agent-runtime/dist/main.js', import.meta.url)),
    OBJECT_STORE: 'file',
    OBJECT_DIRECTORY: given.directory,
    RATE_IP_PER_S: '0',
    RATE_USER_PER_S: '0',
    RATE_SENDS_PER_S: '0',
    RATE_SEARCH_PER_S: '0',
    RATE_TRIGGERS_PER_S: '0',
    TURN_WORKERS: '0',
    RUNTIME_WORKERS: '0',
    UPKEEP_WORKERS: '0',
  };
}
