import { readFileSync } from 'node:fs';
import { LIMITS } from '@uswarm/contract';
import { DEFAULT_RUNTIME_NAMESPACE, SHARED_MODEL_SECRET } from '@uswarm/contract/userswarm';
import {
  corsOrigins,
  flag,
  hstsMaxAge,
  json,
  loadConfig,
  namespacedName,
  port,
  previousSecrets,
  proxyList,
  secret,
  secretText,
  signingKey,
  SOURCE_ADDRESSES,
} from '@uswarm/service-kit';
import { z } from 'zod';
import { OperatorKeys } from './features/admin/operators.js';
import { TOKEN_ALGORITHMS } from './features/auth/oidc-verifier.js';
import { policiesOf } from './features/rate-limits/policies.js';
import { IntegrationProviders } from './features/integrations/provider-clients.js';
import { TokenKeys } from './features/integrations/token-cipher.js';
import { isSecureUrl } from './http/secure-url.js';

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
  /** Signature algorithms that are accepted. Default: every asymmetric one. */
  algorithms: z.array(z.enum(TOKEN_ALGORITHMS)).min(1).optional(),
});

const areUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const Issuers = z
  .array(Issuer)
  .min(1)
  // Users of issuers with one id would be the same users; of issuers with one URL only the first is ever asked.
  .refine((issuers) => areUnique(issuers.map(({ id, issuer }) => id ?? issuer)), 'two issuers have the same id')
  .refine((issuers) => areUnique(issuers.map(({ issuer }) => issuer)), 'two issuers have the same URL');

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/;

const databaseWait = (seconds: number) => z.coerce.number().int().min(0).max(3_600).default(seconds);

const perSecond = (rate: number) => z.coerce.number().min(0).max(1_000_000).default(rate);
const burst = (requests: number) => z.coerce.number().int().min(1).max(1_000_000).default(requests);

/** Whose rights migrations have, and to whom they give which. */
const migrationSettings = {
  /** As the role that owns the schema. Default: DATABASE_URL. */
  MIGRATION_DATABASE_URL: secret(z.string().min(1).optional()),
  /** The role of DATABASE_URL where that is another one: migrations grant it what serving needs. */
  DATABASE_SERVING_ROLE: z.string().min(1).max(63).optional(),
};

/** What a migration is told; an init container starts before its database more often than not. */
export const MigrationConfig = z.object({
  DATABASE_URL: secret(z.string().min(1)),
  ...migrationSettings,
  DATABASE_WAIT_S: databaseWait(120),
});

const privateKeyPem = z
  .string()
  .min(1)
  .transform((pem) => pem.replaceAll(String.raw`\n`, '\n'));

/** Everything the orchestrator can be told, by environment; secrets also by file. No secret has a default. */
export const OrchestratorConfig = z.object({
  DATABASE_URL: secret(z.string().min(1)),
  /** Connections of this process to Postgres in all; see `connectionsOf` for who may use how many. */
  DATABASE_MAX_CONNECTIONS: z.coerce.number().int().min(3).default(20),
  /** Of them, those that only replies, runtimes and events use. Default: three in ten, at least one. */
  DATABASE_BACKGROUND_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  /** Of them, those that only extend leases. Default: 2, or 1 with fewer than ten. */
  DATABASE_LEASE_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  ...migrationSettings,
  /** `off` behind a pooler that gives a session another connection and does not know prepared statements. */
  DATABASE_PREPARED_STATEMENTS: z.enum(['on', 'off']).default('on'),
  /** Where realtime events go; only where the gateway is in the same process can there be none. */
  REALTIME_REDIS_URL: secret(z.string().min(1).optional()),

  HTTP_HOST: z.string().default('0.0.0.0'),
  HTTP_PORT: port.default(8080),
  OPS_PORT: port.default(8081),
  INTERNAL_HOST: z.string().default('0.0.0.0'),
  INTERNAL_PORT: port.default(8082),
  /** Whose `X-Forwarded-For` counts: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  HTTP_TRUSTED_PROXIES: proxyList.default([]),
  /** Origins whose pages may call the API, comma-separated; only `*` is every origin. None by default. */
  CORS_ORIGINS: corsOrigins.default([]),
  /** Seconds of Strict-Transport-Security on each answer; only with https at the edge. */
  HSTS_MAX_AGE_S: hstsMaxAge,

  /**
   * Rates: so many a second in the long run (0 is no limit), and so many at once, a multiple of it. Of an address,
   * of a user, of the messages of a user over REST and sockets together, and of the searches of a user.
   */
  RATE_IP_PER_S: perSecond(LIMITS.rates.ip.perSecond),
  RATE_IP_BURST: burst(LIMITS.rates.ip.burst),
  RATE_USER_PER_S: perSecond(LIMITS.rates.user.perSecond),
  RATE_USER_BURST: burst(LIMITS.rates.user.burst),
  RATE_SENDS_PER_S: perSecond(LIMITS.rates.sends.perSecond),
  RATE_SENDS_BURST: burst(LIMITS.rates.sends.burst),
  RATE_SEARCH_PER_S: perSecond(LIMITS.rates.search.perSecond),
  RATE_SEARCH_BURST: burst(LIMITS.rates.search.burst),
  /** Milliseconds that a search in a conversation may take. */
  SEARCH_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(LIMITS.searchTimeoutMs),

  /** `[{"issuer": "https://…", "audience": "…"}]` */
  OIDC_ISSUERS: json(Issuers),
  /** Issuers and key sets may be at plain http URLs of other machines: for test issuers in a cluster. */
  OIDC_ALLOW_HTTP: flag.default(false),
  /** Milliseconds between two look-ups of an issuer's keys because of an unknown key id. */
  OIDC_JWKS_COOLDOWN_MS: z.coerce.number().int().min(0).default(30_000),
  /** Seconds by which clocks may differ. */
  OIDC_CLOCK_TOLERANCE_S: z.coerce.number().int().min(0).max(300).default(5),

  SIGNATURE_MODE: z.enum(['off', 'required']).default('required'),
  SIGNATURE_SECRET: secret(secretText(16).optional()),
  // Each *_PREVIOUS is a list of secrets that are accepted besides the current one: docs/rotating-keys.md.
  /** Secrets of other versions of the app. */
  SIGNATURE_SECRET_PREVIOUS: secret(previousSecrets(16).default([])),

  /** `<id>:<secret>`, as the gateways have it. */
  INTERNAL_API_KEY: secret(secretText(32)),
  INTERNAL_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `<id>:<secret>`, as operators have it for uswarmctl; without one nobody can administer. */
  ADMIN_API_KEY: secret(secretText(32).optional()),
  ADMIN_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Keys of operators by name: see `OperatorKeys`. */
  ADMIN_API_KEYS: secret(json(OperatorKeys).optional()),
  /** How logs name client addresses: by a keyed hash, or as they are. */
  LOG_SOURCE_ADDRESS: z.enum(SOURCE_ADDRESSES).default('hash'),
  CURSOR_KEY: secret(secretText(32)),
  CURSOR_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Keys the hash that is all that stays of a deleted account. */
  IDENTITY_HASH_KEY: secret(secretText(32)),
  /** Those under which accounts were deleted earlier; without one of them its deleted accounts are forgotten. */
  IDENTITY_HASH_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Ed25519 private key (PKCS #8 PEM) that signs calls to runtimes. */
  CALL_PRIVATE_KEY: secret(privateKeyPem),
  /** While keys are rotated: the one before, for runtimes that have its public half. */
  CALL_PRIVATE_KEY_PREVIOUS: secret(privateKeyPem.optional()),

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
  /** `<namespace>/<name>` of the ConfigMap that marks a removal of the release in progress, until it expires. */
  DRAIN_FLAG: namespacedName.optional(),

  /** `<id>:<secret>`; signs what runtimes show to the tool server. Without one they have no tools of it. */
  SVC_MCP_SIGNING_KEY: secret(signingKey.optional()),

  // Of processes, with RUNTIME_DRIVER=process.
  SVC_MCP_ENDPOINT: z.string().min(1).optional(),
  /** Folder for the log files of runtime processes. */
  RUNTIME_LOG_DIRECTORY: z.string().optional(),

  /** How the API is reached from outside: what links to files begin with. Default: links are relative to the API. */
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),

  /** Where uploaded files are: a bucket of any S3, or a folder of this machine. */
  OBJECT_STORE: z.enum(['s3', 'file']),
  /** With OBJECT_STORE=file. */
  OBJECT_DIRECTORY: z.string().optional(),
  // With OBJECT_STORE=s3.
  /** Default: Amazon's own for the region. */
  S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().optional(),
  /** What the keys of objects begin with. */
  S3_PREFIX: z.string().max(200).default('uploads/'),
  /** Both or none: without them the SDK looks for a role of the pod or the machine. */
  S3_ACCESS_KEY_ID: secret(z.string().optional()),
  S3_SECRET_ACCESS_KEY: secret(z.string().optional()),
  /** The bucket in the path and not in the host name. Default: with S3_ENDPOINT. */
  S3_PATH_STYLE: flag.optional(),

  /** Bytes of one file, and of all files of a user. */
  UPLOAD_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(1024 ** 3)
    .default(LIMITS.uploadBytes),
  UPLOAD_BYTES_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadBytesPerUser),
  /** Files that this process takes in at once; each takes about 10 MiB of memory with OBJECT_STORE=s3. */
  UPLOADS_AT_ONCE: z.coerce.number().int().min(1).max(1_000).default(16),
  /** Of them, files of one user. */
  UPLOADS_AT_ONCE_PER_USER: z.coerce.number().int().min(1).max(1_000).default(2),
  /** Files that a user may have. */
  UPLOADS_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadsPerUser),
  /** Milliseconds without a byte after which an upload ends. */
  UPLOAD_STALL_MS: z.coerce.number().int().min(100).max(600_000).default(10_000),
  /** Seconds between two exports of a user, and days for which an archive is kept. */
  EXPORT_INTERVAL_S: z.coerce.number().int().min(0).default(LIMITS.exportIntervalS),
  EXPORTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.exportsKeptDays),
  /** Workspaces of one user. */
  WORKSPACES_PER_USER: z.coerce.number().int().min(1).max(1_000).default(LIMITS.workspacesPerUser),
  /** Sign-ups of one identity within a day after a deletion of its account; 0 is no limit. */
  SIGN_UPS_AFTER_DELETION_PER_DAY: z.coerce.number().int().min(0).max(1_000).default(LIMITS.signUpsAfterDeletionPerDay),
  /** Seconds since the sign-in at the identity provider (`auth_time`) within which an account can be deleted. Default: any. */
  DELETION_MAX_AUTH_AGE_S: z.coerce.number().int().min(1).max(31_536_000).optional(),
  /** Conversations of one workspace. */
  CONVERSATIONS_PER_WORKSPACE: z.coerce.number().int().min(1).max(10_000).default(LIMITS.conversationsPerWorkspace),
  /** Days that a durable event can be replayed. */
  EVENTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.eventsKeptDays),

  /** Rows of upkeep (old events, files, connections to other apps) looked after at once; 0 leaves them to other replicas. */
  UPKEEP_WORKERS: z.coerce.number().int().min(0).max(1_000).default(4),

  /** The clients registered at other apps: `{"github": {"client_id": "…", "client_secret": "…", "redirect_urls": ["…"]}}` */
  INTEGRATION_PROVIDERS: secret(json(IntegrationProviders).default({})),
  /** `<id>:<32 bytes as base64>`, several by commas: the first encrypts their tokens, all of them decrypt. */
  INTEGRATION_TOKEN_KEYS: secret(TokenKeys.optional()),
  /** Default: the catalogue that comes with the service. */
  INTEGRATION_CATALOG_FILE: z.string().optional(),

  /** How much an agent may remember: memories, and bytes of the content of each. */
  MEMORIES_PER_AGENT: z.coerce.number().int().min(1).max(10_000).default(LIMITS.memoriesPerAgent),
  MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(64 * 1024)
    .default(LIMITS.memoryBytes),

  /** Milliseconds after which another replica takes over the replies and runtimes of one that died. */
  WORK_LEASE_MS: z.coerce.number().int().min(1_000).max(600_000).default(10_000),
  /** Replies of one user that are written at the same time; the others wait, and other users go first. */
  TURNS_PER_USER: z.coerce.number().int().min(1).max(1_000).default(4),
  /** Seconds after which a reply that is still being written is given up. */
  TURN_DEADLINE_S: z.coerce.number().int().min(1).max(86_400).default(1_800),
  TURN_WORKERS: z.coerce.number().int().min(0).max(1_000).default(32),
  LEGAL_DIRECTORY: z.string().optional(),
  /** The version of both documents, where one has none of its own. */
  LEGAL_VERSION: z.string().max(100).default('1'),
  LEGAL_TERMS_VERSION: z.string().max(100).optional(),
  LEGAL_PRIVACY_VERSION: z.string().max(100).optional(),
  /** JSON with the plans, in place of those that come with the service. */
  PLANS_FILE: z.string().optional(),
  /** The provider that the model catalogue names. Runtimes have their own setting. */
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

/** What calls to runtimes are signed with, the present key first. */
export const callKeys = ({
  CALL_PRIVATE_KEY: key,
  CALL_PRIVATE_KEY_PREVIOUS: previous,
}: Pick<OrchestratorConfig, 'CALL_PRIVATE_KEY' | 'CALL_PRIVATE_KEY_PREVIOUS'>): string[] =>
  previous === undefined ? [key] : [key, previous];

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
  if (Object.keys(config.INTEGRATION_PROVIDERS).length > 0 && config.INTEGRATION_TOKEN_KEYS === undefined) {
    throw new Error('INTEGRATION_TOKEN_KEYS is not set; INTEGRATION_PROVIDERS needs it');
  }
  requireSecureIssuers(config);
  objectSettings(config);
  policiesOf(config);
  connectionsOf(config);
  return config;
}

/** How many of its connections a process has for what. @throws Error when none is left for requests */
export function connectionsOf(
  config: Pick<
    OrchestratorConfig,
    'DATABASE_MAX_CONNECTIONS' | 'DATABASE_BACKGROUND_CONNECTIONS' | 'DATABASE_LEASE_CONNECTIONS'
  >,
): { requests: number; background: number; leases: number } {
  const { DATABASE_MAX_CONNECTIONS: total } = config;
  const leases = config.DATABASE_LEASE_CONNECTIONS ?? (total < 10 ? 1 : 2);
  const background = config.DATABASE_BACKGROUND_CONNECTIONS ?? Math.max(1, Math.floor(total * 0.3));
  const requests = total - background - leases;
  if (requests < 1) {
    throw new Error(
      'DATABASE_MAX_CONNECTIONS leaves no connection for requests: it includes DATABASE_BACKGROUND_CONNECTIONS and DATABASE_LEASE_CONNECTIONS',
    );
  }
  return { requests, background, leases };
}

/** Who reads or changes keys on the way signs in as anybody. */
function requireSecureIssuers({ OIDC_ISSUERS, OIDC_ALLOW_HTTP }: OrchestratorConfig): void {
  if (OIDC_ALLOW_HTTP) return;
  const urls = OIDC_ISSUERS.flatMap(({ issuer, jwks_uri: keys = issuer }) => [issuer, keys]);
  const insecure = urls.find((url) => !isSecureUrl(url));
  if (insecure !== undefined) {
    throw new Error(`OIDC_ISSUERS: ${insecure} needs https; OIDC_ALLOW_HTTP=true allows http, for test issuers only`);
  }
}

/** Where objects are, with all that it takes to get at them. @throws Error where something of it is not set */
export function objectSettings(config: OrchestratorConfig) {
  const { OBJECT_STORE, OBJECT_DIRECTORY: directory, S3_ENDPOINT: endpoint, S3_BUCKET: bucket } = config;
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config;
  if (OBJECT_STORE === 'file') {
    if (directory === undefined) throw new Error('OBJECT_DIRECTORY is not set; OBJECT_STORE=file needs it');
    return { store: 'file', directory } as const;
  }
  if (bucket === undefined) throw new Error('S3_BUCKET is not set; OBJECT_STORE=s3 needs it');
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    throw new Error('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together');
  }
  return {
    store: 's3',
    bucket,
    region: config.S3_REGION,
    prefix: config.S3_PREFIX,
    pathStyle: config.S3_PATH_STYLE ?? endpoint !== undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey } }),
  } as const;
}

/** The version of the service, which `GET /v1/health` returns. */
export function serviceVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
