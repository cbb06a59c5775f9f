import { readFileSync } from 'node:fs';
import { LIMITS } from '@uswarm/contract';
import { DEFAULT_RUNTIME_NAMESPACE, DnsLabel, DnsSubdomain, SHARED_MODEL_SECRET } from '@uswarm/contract/userswarm';
import {
  corsOrigins,
  flag,
  hstsMaxAge,
  json,
  list,
  loadConfig,
  namespacedName,
  parseSigningKey,
  parseSigningKeys,
  port,
  previousSecrets,
  proxyList,
  secret,
  secretText,
  type SigningKey,
  signingKey,
  SOURCE_ADDRESSES,
} from '@uswarm/service-kit';
import { type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { OperatorKeys } from './accounts/admin/operators.js';
import { TOKEN_ALGORITHMS } from './accounts/auth/oidc-verifier.js';
import { connectionsOf } from './platform/database/databases.js';
import { objectSettings } from './workspaces/uploads/object-settings.js';
import { policiesOf } from './platform/rate-limits/policies.js';
import { IntegrationProviders } from './apps/integrations/provider-clients.js';
import { TokenKeys } from './apps/integrations/token-cipher.js';
import { ServiceAccount } from './accounts/push/service-account.js';
import { VapidKeys } from './accounts/push/vapid.js';
import { pageSettings } from './platform/http/page-settings.js';
import { isSecureUrl } from './platform/http/secure-url.js';

/** Strict: without a misspelled restriction, more tokens would be accepted. */
const Issuer = z.strictObject({
  /** The issuer of stored users; keep it when the issuer's URL changes. Default: the URL. */
  id: z
    .string()
    .min(1)
    .refine((id) => id !== 'e2e', 'is reserved for the end-to-end bypass')
    .optional(),
  issuer: z.url(),
  audience: z.union([z.string(), z.array(z.string()).min(1)]),
  /** Accepted values of `azp` besides the audience. */
  authorized_parties: z.array(z.string().min(1)).optional(),
  jwks_uri: z.url().optional(),
  /** Accepted signature algorithms. Default: all asymmetric ones. */
  algorithms: z.array(z.enum(TOKEN_ALGORITHMS)).min(1).optional(),
});

const areUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const Issuers = z
  .array(Issuer)
  .min(1)
  // Issuers with the same id would share their users, and of issuers with the same URL only the first would be used.
  .refine((issuers) => areUnique(issuers.map(({ id, issuer }) => id ?? issuer)), 'two issuers have the same id')
  .refine((issuers) => areUnique(issuers.map(({ issuer }) => issuer)), 'two issuers have the same URL');

const isOrigin = (url: string): boolean => URL.canParse(url) && new URL(url).origin === url;

const databaseWait = (seconds: number) => z.coerce.number().int().min(0).max(3_600).default(seconds);

const perSecond = (rate: number) => z.coerce.number().min(0).max(1_000_000).default(rate);
const burst = (requests: number) => z.coerce.number().int().min(1).max(1_000_000).default(requests);

/** Database roles of migrations. */
const migrationSettings = {
  /** Connects as the role that owns the schema. Default: DATABASE_URL. */
  MIGRATION_DATABASE_URL: secret(z.string().min(1).optional()),
  /** The role of DATABASE_URL if it does not own the schema: migrations grant it the rights that serving needs. */
  DATABASE_SERVING_ROLE: z.string().min(1).max(63).optional(),
};

/** Configuration of migrations. An init container often starts before its database, so the wait is longer. */
export const MigrationConfig = z.object({
  DATABASE_URL: secret(z.string().min(1)),
  ...migrationSettings,
  DATABASE_WAIT_S: databaseWait(120),
});

const privateKeyPem = z
  .string()
  .min(1)
  .transform((pem) => pem.replaceAll(String.raw`\n`, '\n'));

const appleId = z.string().regex(/^[A-Z0-9]{10}$/, 'must be 10 letters and digits');

const hostList = z.string().transform((hosts) =>
  hosts
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== ''),
);

/** Configuration of the orchestrator by environment; secrets also by file. No secret has a default. */
export const OrchestratorConfig = z.object({
  DATABASE_URL: secret(z.string().min(1)),
  /** Connections of this process to Postgres; `connectionsOf` divides them. */
  DATABASE_MAX_CONNECTIONS: z.coerce.number().int().min(3).default(20),
  /** The part reserved for turns, runtimes and events. Default: 30 %, at least one. */
  DATABASE_BACKGROUND_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  /** The part reserved for extending leases. Default: 2, or 1 if there are fewer than ten connections. */
  DATABASE_LEASE_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  ...migrationSettings,
  /** `off` for a pooler that changes the connection of a session and does not support prepared statements. */
  DATABASE_PREPARED_STATEMENTS: z.enum(['on', 'off']).default('on'),
  /** The bus of realtime events; optional only if the gateway runs in the same process. */
  REALTIME_REDIS_URL: secret(z.string().min(1).optional()),

  HTTP_HOST: z.string().optional(),
  HTTP_PORT: port.default(8080),
  OPS_PORT: port.default(8081),
  INTERNAL_HOST: z.string().optional(),
  INTERNAL_PORT: port.default(8082),
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  HTTP_TRUSTED_PROXIES: proxyList.default([]),
  /** Origins whose pages may call the API, comma-separated; `*` allows all origins. Default: none. */
  CORS_ORIGINS: corsOrigins.default([]),
  /** `max-age` of Strict-Transport-Security in each response; set it only if the edge uses https. */
  HSTS_MAX_AGE_S: hstsMaxAge,
  /** Serves the pages at `/docs`, which show the API documents. */
  DOCS_ENABLED: flag.default(false),
  /** Client id with which the page signs users in; it must be an audience of the issuer. Without it, the page is not served. */
  WEB_CLIENT_ID: z.string().min(1).optional(),
  /** An issuer of OIDC_ISSUERS. Default: the first one. */
  WEB_ISSUER: z.url().optional(),
  WEB_SCOPES: z.string().min(1).default('openid email profile'),
  /** Further origins where the issuer has endpoints, comma-separated. Browsers let the page connect only to known origins. */
  WEB_ISSUER_ORIGINS: list
    .refine((urls) => urls.every(isOrigin), 'expected origins such as https://login.example.com')
    .default([]),

  /**
   * Rate limits: the sustained rate per second (0 disables the limit) and the burst. They count requests per address,
   * requests per user, messages per user (REST and sockets together), and searches per user.
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
  /** Allows http URLs of other machines for issuers and key sets; for test issuers in a cluster. */
  OIDC_ALLOW_HTTP: flag.default(false),
  /** Minimum milliseconds between two fetches of an issuer's keys because of an unknown key id. */
  OIDC_JWKS_COOLDOWN_MS: z.coerce.number().int().min(0).default(30_000),
  /** Allowed clock skew in seconds. */
  OIDC_CLOCK_TOLERANCE_S: z.coerce.number().int().min(0).max(300).default(5),

  SIGNATURE_MODE: z.enum(['off', 'required']).default('required'),
  SIGNATURE_SECRET: secret(secretText(16).optional()),
  // Each *_PREVIOUS is a list of further secrets that are accepted: docs/rotating-keys.md.
  /** Secrets of other versions of the app. */
  SIGNATURE_SECRET_PREVIOUS: secret(previousSecrets(16).default([])),

  /** `<id>:<secret>`; realtime gateways have the same one. */
  INTERNAL_API_KEY: secret(secretText(32)),
  INTERNAL_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `<id>:<secret>`; the model gateway has the same one. Required with MODEL_TOKEN_SIGNING_KEY. */
  MODEL_CALLS_KEY: secret(secretText(32).optional()),
  MODEL_CALLS_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `<id>:<secret>` of operators, for uswarmctl. Without a key the admin API is disabled. */
  ADMIN_API_KEY: secret(secretText(32).optional()),
  ADMIN_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Keys of operators by name: see `OperatorKeys`. */
  ADMIN_API_KEYS: secret(json(OperatorKeys).optional()),
  /** Whether logs contain client addresses or their keyed hashes. */
  LOG_SOURCE_ADDRESS: z.enum(SOURCE_ADDRESSES).default('hash'),
  CURSOR_KEY: secret(secretText(32)),
  CURSOR_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Keys the hash of the identity, which is kept when an account is deleted. */
  IDENTITY_HASH_KEY: secret(secretText(32)),
  /** Earlier keys. Accounts that were deleted under a key that is missing here are forgotten. */
  IDENTITY_HASH_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Ed25519 private key (PKCS #8 PEM) that signs calls to runtimes. The key for receipts is derived from it. */
  CALL_PRIVATE_KEY: secret(privateKeyPem),
  /** During a key rotation: the previous key, for runtimes that have its public key. */
  CALL_PRIVATE_KEY_PREVIOUS: secret(privateKeyPem.optional()),

  /** Runs runtimes as processes of this machine, or as pods of UserSwarms. */
  RUNTIME_DRIVER: z.enum(['process', 'kubernetes']),
  /** Runtimes that this process reconciles concurrently; 0 leaves them to other replicas. */
  RUNTIME_WORKERS: z.coerce.number().int().min(0).max(1_000).default(16),
  /** Seconds without work after which a runtime is suspended; 0 disables it. Default: see `idleSuspendAfterMs`. */
  IDLE_SUSPEND_AFTER_S: z.coerce.number().int().min(0).max(31_536_000).optional(),

  // With RUNTIME_DRIVER=kubernetes:
  RUNTIME_NAMESPACE: DnsLabel.default(DEFAULT_RUNTIME_NAMESPACE),
  /** Whether runtimes with a waiting turn are called while their pods start. Needs to list and watch EndpointSlices in that namespace. */
  CALL_STARTING_RUNTIMES: flag.default(true),
  /** The Secret in that namespace with the environment of runtimes. An empty value means none. */
  RUNTIME_ENV_SECRET: DnsSubdomain.default(SHARED_MODEL_SECRET),
  /** Slug of the model provider of agents that name none. */
  RUNTIME_DEFAULT_PROVIDER: DnsLabel.optional(),
  RUNTIME_DEFAULT_MODEL: z.string().max(253).optional(),
  /** `<namespace>/<name>` of the ConfigMap that marks an uninstall in progress. */
  DRAIN_FLAG: namespacedName.optional(),

  /** `<id>:<secret>`; signs the tokens of runtimes for the tool server. Without it runtimes cannot use the server. */
  SVC_MCP_SIGNING_KEY: secret(signingKey.optional()),
  /** `<id>:<secret>`; signs the tokens of runtimes for the model gateway. Set it only if runtimes use a gateway. */
  MODEL_TOKEN_SIGNING_KEY: secret(signingKey.optional()),

  // With RUNTIME_DRIVER=process:
  /** The path of the entry point of the agent runtime. Required for this driver. */
  RUNTIME_PROGRAM: z.string().min(1).optional(),
  /** Maximum runtime processes of this orchestrator. Further starts wait until an idle one is suspended. 0: no limit. */
  RUNTIME_MAX_PROCESSES: z.coerce.number().int().min(0).max(1_000).default(0),
  /** Maximum concurrent runtime process starts. Default: one per processor core. */
  RUNTIME_MAX_STARTS: z.coerce.number().int().min(1).max(1_000).optional(),
  /** Milliseconds without progress after which a starting runtime process is killed. A slow start that makes progress is not. */
  RUNTIME_START_MS: z.coerce.number().int().min(100).max(3_600_000).default(15_000),
  SVC_MCP_ENDPOINT: z.string().min(1).optional(),
  /** Origin of the model gateway. Runtimes then get no key and no address of a provider. */
  MODEL_GATEWAY_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Folder for the log files of runtime processes. */
  RUNTIME_LOG_DIRECTORY: z.string().optional(),

  /** Public URL of the API; links to files begin with it. Default: relative links. */
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),

  /** Stores files in an S3 bucket or in a folder of this machine. */
  OBJECT_STORE: z.enum(['s3', 'file']),
  /** Required with OBJECT_STORE=file. */
  OBJECT_DIRECTORY: z.string().optional(),
  // With OBJECT_STORE=s3:
  /** Default: the endpoint of Amazon S3 in the region. */
  S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().optional(),
  /** Prefix of object keys. */
  S3_PREFIX: z.string().max(200).default('uploads/'),
  /** Set both or neither. Without them the SDK uses the role of the pod or the machine. */
  S3_ACCESS_KEY_ID: secret(z.string().optional()),
  S3_SECRET_ACCESS_KEY: secret(z.string().optional()),
  /** Puts the bucket into the path instead of the host name. Default: true if S3_ENDPOINT is set. */
  S3_PATH_STYLE: flag.optional(),

  /** Maximum bytes per file. */
  UPLOAD_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(1024 ** 3)
    .default(LIMITS.uploadBytes),
  /** Maximum bytes of all files per user. */
  UPLOAD_BYTES_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadBytesPerUser),
  /** Files that this process receives concurrently; each needs about 10 MiB of memory with OBJECT_STORE=s3. */
  UPLOADS_AT_ONCE: z.coerce.number().int().min(1).max(1_000).default(16),
  /** The same per user. */
  UPLOADS_AT_ONCE_PER_USER: z.coerce.number().int().min(1).max(1_000).default(2),
  /** Maximum files per user. */
  UPLOADS_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadsPerUser),
  /** Milliseconds without data after which an upload is aborted. */
  UPLOAD_STALL_MS: z.coerce.number().int().min(100).max(600_000).default(10_000),
  /** Minimum bytes of an upload in 20 seconds. The default is just below 8 KiB/s, at which the largest file fits the request timeout. */
  UPLOAD_MIN_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(128 * 1024),
  /** Minimum seconds between two exports per user. */
  EXPORT_INTERVAL_S: z.coerce.number().int().min(0).default(LIMITS.exportIntervalS),
  /** Retention of archives in days. */
  EXPORTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.exportsKeptDays),
  /** Maximum workspaces per user. */
  WORKSPACES_PER_USER: z.coerce.number().int().min(1).max(1_000).default(LIMITS.workspacesPerUser),
  /** Sign-ups per identity within a day after a deletion of its account; 0 disables the limit. */
  SIGN_UPS_AFTER_DELETION_PER_DAY: z.coerce.number().int().min(0).max(1_000).default(LIMITS.signUpsAfterDeletionPerDay),
  /** Maximum age in seconds of the sign-in at the identity provider (`auth_time`) for an account deletion. Default: any. */
  DELETION_MAX_AUTH_AGE_S: z.coerce.number().int().min(1).max(31_536_000).optional(),
  /** Maximum conversations per workspace. */
  CONVERSATIONS_PER_WORKSPACE: z.coerce.number().int().min(1).max(10_000).default(LIMITS.conversationsPerWorkspace),
  /** Retention of durable events in days. */
  EVENTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.eventsKeptDays),
  /**
   * Fixes the epoch of the events. Set it only if a failover of the database loses no commit: clients then do not reload after it.
   */
  EVENTS_EPOCH: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/)
    .optional(),
  /** Retention in days of what finished turns did: their model calls, tool calls and results. */
  JOURNALS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.journalsKeptDays),

  /** Maintenance jobs of each type (pruning, files, tokens) that this process handles concurrently; 0 leaves them to other replicas. */
  UPKEEP_WORKERS: z.coerce.number().int().min(0).max(1_000).default(6),

  /** OAuth clients: `{"github": {"client_id": "…", "client_secret": "…", "redirect_urls": ["…"]}}` */
  INTEGRATION_PROVIDERS: secret(json(IntegrationProviders).default({})),
  /** `<id>:<32 bytes as base64>`, comma-separated. The first key encrypts OAuth tokens, all keys decrypt. */
  INTEGRATION_TOKEN_KEYS: secret(TokenKeys.optional()),
  /** Default: the built-in catalogue. */
  INTEGRATION_CATALOG_FILE: z.string().optional(),

  /** Sends push notifications with Firebase Cloud Messaging: the JSON key file of a service account of Google. Default: none are sent. */
  PUSH_SERVICE_ACCOUNT: secret(json(ServiceAccount).optional()),
  /** The address of Firebase Cloud Messaging, without a slash at the end. */
  PUSH_URL: z.url().default('https://fcm.googleapis.com'),
  /** Sends push notifications to Apple's service without Firebase: the PEM of the .p8 key. */
  APNS_KEY: secret(privateKeyPem.optional()),
  /** The id of the key, and of the team that it belongs to. */
  APNS_KEY_ID: appleId.optional(),
  APNS_TEAM_ID: appleId.optional(),
  /** The bundle id of the app. */
  APNS_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,155}$/)
    .optional(),
  /** `sandbox` for builds of developers. */
  APNS_ENVIRONMENT: z.enum(['production', 'sandbox']).default('production'),
  /** Another server with Apple's API, without a slash at the end. */
  APNS_URL: z.url().optional(),
  /** Sends push notifications to browsers (Web Push): the private key of VAPID, 32 bytes as base64url. */
  WEB_PUSH_PRIVATE_KEY: secret(VapidKeys.optional()),
  /** By which the operators of push services can reach the operator of uswarm: a mailto: or https: URL. */
  WEB_PUSH_CONTACT: z
    .string()
    .regex(/^(?:mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/)
    .optional(),
  /** Hosts of push services of browsers that may have a private address, comma-separated. Browsers name these hosts; others are refused. */
  WEB_PUSH_PRIVATE_HOSTS: hostList.default([]),
  /** Whether notifications contain the name of the agent and the start of the message, which pass through the servers of Google and Apple. */
  PUSH_PREVIEW: flag.default(true),
  /** Milliseconds from an answer to its notification, in which a device can report that it has received it. */
  PUSH_DELAY_MS: z.coerce.number().int().min(0).max(600_000).default(LIMITS.positions.announceMs),

  /** Maximum memories per agent. */
  MEMORIES_PER_AGENT: z.coerce.number().int().min(1).max(10_000).default(LIMITS.memoriesPerAgent),
  /** Maximum bytes of the content of a memory. */
  MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(64 * 1024)
    .default(LIMITS.memoryBytes),

  /** Milliseconds after which another replica takes over the turns and runtimes of a crashed one. */
  WORK_LEASE_MS: z.coerce.number().int().min(1_000).max(600_000).default(10_000),
  /** Concurrent turns per user; further ones are queued behind those of other users. */
  TURNS_PER_USER: z.coerce.number().int().min(1).max(1_000).default(6),
  /** Seconds after which a running turn fails. */
  TURN_DEADLINE_S: z.coerce.number().int().min(1).max(86_400).default(1_800),
  /** Concurrent summaries, and as many titles, of conversations. 0 turns them off. */
  SUMMARY_WORKERS: z.coerce.number().int().min(0).max(100).default(2),
  TURN_WORKERS: z.coerce.number().int().min(0).max(1_000).default(32),
  LEGAL_DIRECTORY: z.string().optional(),
  /** The version of documents without a separate version. */
  LEGAL_VERSION: z.string().max(100).default('1'),
  LEGAL_TERMS_VERSION: z.string().max(100).optional(),
  LEGAL_PRIVACY_VERSION: z.string().max(100).optional(),
  /** JSON file with the plans. Default: the built-in ones. */
  PLANS_FILE: z.string().optional(),
  /** JSON file with the models and their limits. Default: the built-in ones. */
  MODELS_FILE: z.string().optional(),
  /** The provider in the model catalogue. Runtimes have a separate setting. */
  MODEL_PROVIDER: z.string().default('demo'),
  /** Migrates before serving. If false, the start only checks the schema. */
  MIGRATE: flag.default(true),
  /** Seconds to wait for the database at the start. */
  DATABASE_WAIT_S: databaseWait(60),
  LOG_LEVEL: z.string().default('info'),
});
export type OrchestratorConfig = z.output<typeof OrchestratorConfig> & {
  /** The proxies of calls that leave the platform. */
  proxy: OutgoingProxy;
};

/** @throws ConfigError, or Error if settings contradict each other */
export function readConfig(environment: Record<string, string | undefined>): OrchestratorConfig {
  const config = { ...loadConfig(OrchestratorConfig, environment), proxy: readProxy(environment) };
  // An empty variable usually means unset. Here it means no Secret.
  return checkConfig(environment['RUNTIME_ENV_SECRET'] === '' ? { ...config, RUNTIME_ENV_SECRET: '' } : config);
}

/** A model gateway whose key is also one of the other keys would open the routes of those. */
function checkModelCallsKey(config: OrchestratorConfig): void {
  if (config.MODEL_TOKEN_SIGNING_KEY !== undefined && config.MODEL_CALLS_KEY === undefined) {
    throw new Error('MODEL_CALLS_KEY is not set; MODEL_TOKEN_SIGNING_KEY needs it');
  }
  const secretsOf = (texts: readonly (string | undefined)[]): string[] =>
    texts.flatMap((text) => (text === undefined ? [] : Buffer.from(parseSigningKey(text).secret).toString('hex')));
  const own = new Set(secretsOf([config.MODEL_CALLS_KEY, ...config.MODEL_CALLS_KEY_PREVIOUS]));
  const others = {
    INTERNAL_API_KEY: [config.INTERNAL_API_KEY, ...config.INTERNAL_API_KEY_PREVIOUS],
    ADMIN_API_KEY: [config.ADMIN_API_KEY, ...config.ADMIN_API_KEY_PREVIOUS],
  };
  for (const [name, texts] of Object.entries(others)) {
    if (secretsOf(texts).some((each) => own.has(each))) {
      throw new Error(`MODEL_CALLS_KEY has the secret of ${name}; it must be a separate key`);
    }
  }
}

/** Keys with which the model gateway calls the internal API: the current one, and previous ones during a rotation. */
export const modelCallsKeys = (
  config: Pick<OrchestratorConfig, 'MODEL_CALLS_KEY' | 'MODEL_CALLS_KEY_PREVIOUS'>,
): SigningKey[] =>
  config.MODEL_CALLS_KEY === undefined ? [] : parseSigningKeys(config.MODEL_CALLS_KEY, config.MODEL_CALLS_KEY_PREVIOUS);

/** Checks rules between settings. @throws Error naming the settings */
export function checkConfig(config: OrchestratorConfig): OrchestratorConfig {
  if (config.SIGNATURE_MODE === 'required' && config.SIGNATURE_SECRET === undefined) {
    throw new Error('SIGNATURE_SECRET is not set; SIGNATURE_MODE=required needs it');
  }
  checkModelCallsKey(config);
  if (Object.keys(config.INTEGRATION_PROVIDERS).length > 0 && config.INTEGRATION_TOKEN_KEYS === undefined) {
    throw new Error('INTEGRATION_TOKEN_KEYS is not set; INTEGRATION_PROVIDERS needs it');
  }
  requireSecurePush(config);
  requireAllOrNone(config, ['WEB_PUSH_PRIVATE_KEY', 'WEB_PUSH_CONTACT']);
  requireAllOrNone(config, ['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_TOPIC']);
  requireSecureIssuers(config);
  pageSettings(config);
  objectSettings(config);
  policiesOf(config);
  connectionsOf(config);
  return config;
}

/** An attacker who can replace the keys of an issuer in transit can sign in as any user. */
function requireSecureIssuers({ OIDC_ISSUERS, OIDC_ALLOW_HTTP }: OrchestratorConfig): void {
  if (OIDC_ALLOW_HTTP) return;
  const urls = OIDC_ISSUERS.flatMap(({ issuer, jwks_uri: keys = issuer }) => [issuer, keys]);
  const insecure = urls.find((url) => !isSecureUrl(url));
  if (insecure !== undefined) {
    throw new Error(`OIDC_ISSUERS: ${insecure} needs https; OIDC_ALLOW_HTTP=true allows http, for test issuers only`);
  }
}

/** Keys of Google and tokens of devices are sent to these addresses. @throws Error */
function requireSecurePush({ PUSH_URL, PUSH_SERVICE_ACCOUNT, APNS_URL = PUSH_URL }: OrchestratorConfig): void {
  const urls = [PUSH_URL, PUSH_SERVICE_ACCOUNT?.token_uri ?? PUSH_URL, APNS_URL];
  const insecure = urls.find((url) => !isSecureUrl(url));
  if (insecure !== undefined) throw new Error(`PUSH_URL, PUSH_SERVICE_ACCOUNT, APNS_URL: ${insecure} needs https`);
}

/** Settings of one service. @throws Error */
function requireAllOrNone(config: OrchestratorConfig, names: readonly (keyof OrchestratorConfig)[]): void {
  const missing = names.filter((name) => config[name] === undefined);
  if (missing.length > 0 && missing.length < names.length)
    throw new Error(`${missing.join(', ')}: not set; ${names.join(', ')} belong together`);
}

/** The version of the service, which `GET /v1/health` returns. */
export function serviceVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
