import { DEFAULT_RUNTIME_NAMESPACE, SHARED_MODEL_SECRET } from '@uswarm/contract/userswarm';
import { flag, json, loadConfig, port } from '@uswarm/service-kit';
import { z } from 'zod';

const Issuer = z.object({
  /** What users are stored under; stays the same when the issuer's URL changes. Default: the URL. */
  id: z
    .string()
    .min(1)
    .refine((id) => id !== 'e2e', 'is reserved for the end-to-end bypass')
    .optional(),
  issuer: z.url(),
  audience: z.union([z.string(), z.array(z.string()).min(1)]),
  jwks_uri: z.url().optional(),
});

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

const databaseWait = (seconds: number) => z.coerce.number().int().min(0).max(3_600).default(seconds);

/** What a migration is told; an init container starts before its database more often than not. */
export const MigrationConfig = z.object({ DATABASE_URL: z.string().min(1), DATABASE_WAIT_S: databaseWait(120) });

/** Everything the orchestrator can be told, by environment. No secret has a default. */
export const OrchestratorConfig = z.object({
  DATABASE_URL: z.string().min(1),
  DATABASE_MAX_CONNECTIONS: z.coerce.number().int().min(2).default(20),
  /** Where realtime events go; only where the gateway is in the same process can there be none. */
  REALTIME_REDIS_URL: z.string().min(1).optional(),

  HTTP_HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: port.default(8080),
  OPS_PORT: port.default(8081),
  INTERNAL_HOST: z.string().default('0.0.0.0'),
  INTERNAL_PORT: port.default(8082),

  /** `[{"issuer": "https://…", "audience": "…"}]` */
  OIDC_ISSUERS: json(z.array(Issuer).min(1)),
  /** Milliseconds between two look-ups of an issuer's keys because of an unknown key id. */
  OIDC_JWKS_COOLDOWN_MS: z.coerce.number().int().min(0).default(30_000),
  /** Seconds by which clocks may differ. */
  OIDC_CLOCK_TOLERANCE_S: z.coerce.number().int().min(0).max(300).default(5),

  SIGNATURE_MODE: z.enum(['off', 'required']).default('required'),
  SIGNATURE_SECRET: z.string().min(16).optional(),

  /** `<id>:<secret>`, as the gateways have it. */
  INTERNAL_API_KEY: z.string().min(32),
  CURSOR_KEY: z.string().min(32),
  /** Keys the hash that is all that stays of a deleted account. */
  IDENTITY_HASH_KEY: z.string().min(32),
  /** Ed25519 private key (PKCS #8 PEM) that signs calls to runtimes. */
  CALL_PRIVATE_KEY: z
    .string()
    .min(1)
    .transform((pem) => pem.replaceAll(String.raw`\n`, '\n')),

  /** Where runtimes run: processes on this machine, or pods that UserSwarms ask for. */
  RUNTIME_DRIVER: z.enum(['process', 'kubernetes']),
  /** Runtimes looked after at once by this process; 0 leaves them to other replicas. */
  RUNTIME_WORKERS: z.coerce.number().int().min(0).max(1_000).default(16),
  /** Seconds without work after which a runtime is suspended; 0 is never. Default: see `idleSuspendAfterMs`. */
  IDLE_SUSPEND_AFTER_S: z.coerce.number().int().min(0).max(31_536_000).optional(),

  // Of pods, with RUNTIME_DRIVER=kubernetes.
  RUNTIME_NAMESPACE: z.string().max(63).regex(DNS_LABEL).default(DEFAULT_RUNTIME_NAMESPACE),
  /** The Secret in that namespace with the environment of runtimes; set to nothing, there is none. */
  RUNTIME_ENV_SECRET: z.string().max(253).regex(DNS_SUBDOMAIN).default(SHARED_MODEL_SECRET),
  /** Slug of the model provider, where an agent names none. */
  RUNTIME_DEFAULT_PROVIDER: z.string().max(63).regex(DNS_LABEL).optional(),
  RUNTIME_DEFAULT_MODEL: z.string().max(253).optional(),

  // Of processes, with RUNTIME_DRIVER=process.
  /** `<id>:<secret>`; signs what runtimes show to the tool server. */
  SVC_MCP_SIGNING_KEY: z.string().min(32).optional(),
  SVC_MCP_ENDPOINT: z.string().min(1).optional(),
  /** Folder for the log files of runtime processes. */
  RUNTIME_LOG_DIRECTORY: z.string().optional(),

  TURN_WORKERS: z.coerce.number().int().min(0).max(1_000).default(32),
  LEGAL_DIRECTORY: z.string().optional(),
  LEGAL_VERSION: z.string().default('1'),
  MODEL_PROVIDER: z.string().default('demo'),
  /** Migrate before serving. Else the schema must be there, and that is checked. */
  MIGRATE: flag.default(true),
  /** Seconds that a start waits for the database. */
  DATABASE_WAIT_S: databaseWait(60),
  LOG_LEVEL: z.string().default('info'),
});
export type OrchestratorConfig = z.output<typeof OrchestratorConfig>;

/** An hour of idle pods is dear, an idle process costs nothing. */
const IDLE_SUSPEND_AFTER_S = { kubernetes: 1_800, process: 0 };

/** Milliseconds without work after which a runtime is suspended; 0 is never. */
export function idleSuspendAfterMs(
  config: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'IDLE_SUSPEND_AFTER_S'>,
): number {
  return (config.IDLE_SUSPEND_AFTER_S ?? IDLE_SUSPEND_AFTER_S[config.RUNTIME_DRIVER]) * 1_000;
}

/** @throws ConfigError, or Error where settings do not go together */
export function readConfig(environment: Record<string, string | undefined>): OrchestratorConfig {
  const config = loadConfig(OrchestratorConfig, environment);
  // Elsewhere nothing counts as unset; here it is a choice.
  return checkConfig(environment['RUNTIME_ENV_SECRET'] === '' ? { ...config, RUNTIME_ENV_SECRET: '' } : config);
}

/** A mistake that only shows when two settings are seen together. */
export function checkConfig(config: OrchestratorConfig): OrchestratorConfig {
  if (config.SIGNATURE_MODE === 'required' && config.SIGNATURE_SECRET === undefined) {
    throw new Error('SIGNATURE_SECRET is not set; SIGNATURE_MODE=required needs it');
  }
  return config;
}
