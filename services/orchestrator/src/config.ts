import { readFileSync } from 'node:fs';
import { LIMITS } from '@uswarm/contract';
import { DEFAULT_RUNTIME_NAMESPACE, DnsLabel, DnsSubdomain, SHARED_MODEL_SECRET } from '@uswarm/contract/userswarm';
import {
  corsOrigins,
  flag,
  hstsMaxAge,
  isSecureUrl,
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
  valkeyUrl,
} from '@uswarm/service-kit';
import { type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { OperatorIssuers } from './accounts/admin/operator-tokens.js';
import { OperatorKeys } from './accounts/admin/operators.js';
import { IssuerSettings } from './accounts/auth/issuer-tokens.js';
import { connectionsOf } from './platform/database/databases.js';
import { objectSettings } from './workspaces/uploads/object-settings.js';
import { policiesOf } from './platform/rate-limits/policies.js';
import { IntegrationProviders } from './apps/integrations/provider-clients.js';
import { TokenKeys } from './apps/integrations/token-cipher.js';
import { ServiceAccount } from './accounts/push/service-account.js';
import { VapidKeys } from './accounts/push/vapid.js';
import { pageSettings } from './platform/http/page-settings.js';

const Issuer = IssuerSettings.extend({
  /** Identifies the issuer in stored users; keep it when the issuer's URL changes. Default: the URL. */
  id: z
    .string()
    .min(1)
    .refine((id) => id !== 'e2e', 'is reserved for the end-to-end bypass')
    .optional(),
});

const areUnique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const Issuers = z
  .array(Issuer)
  .min(1)
  // Issuers with the same id would share their users. Issuers with the same URL would hide each other: only the first
  // is used.
  .refine((issuers) => areUnique(issuers.map(({ id, issuer }) => id ?? issuer)), 'two issuers have the same id')
  .refine((issuers) => areUnique(issuers.map(({ issuer }) => issuer)), 'two issuers have the same URL');

const isOrigin = (url: string): boolean => URL.canParse(url) && new URL(url).origin === url;

const databaseWait = (seconds: number) => z.coerce.number().int().min(0).max(3_600).default(seconds);

const perSecond = (rate: number) => z.coerce.number().min(0).max(1_000_000).default(rate);
const burst = (requests: number) => z.coerce.number().int().min(1).max(1_000_000).default(requests);

const migrationSettings = {
  /** Connects as the role that owns the schema. Default: DATABASE_URL. */
  MIGRATION_DATABASE_URL: secret(z.string().min(1).optional()),
  /** The DATABASE_URL role, if it does not own the schema: migrations grant it the rights that serving needs. */
  DATABASE_SERVING_ROLE: z.string().min(1).max(63).optional(),
};

/** An init container often starts before its database, so the wait is longer. */
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

const price = z.coerce.number().int().min(0).max(1_000_000_000).default(0);

const hostList = z.string().transform((hosts) =>
  hosts
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== ''),
);

/** Environment variables; secrets can also be files. No secret has a default. */
export const OrchestratorConfig = z.object({
  DATABASE_URL: secret(z.string().min(1)),
  /** A standby. Only clients that send a position read from it, so that they never read less than they have seen. */
  DATABASE_READ_URL: secret(z.string().min(1).optional()),
  /** This process's connections to the standby, besides `DATABASE_MAX_CONNECTIONS`. */
  DATABASE_READ_MAX_CONNECTIONS: z.coerce.number().int().min(1).default(10),
  /** This process's connections to Postgres; `connectionsOf` divides them. */
  DATABASE_MAX_CONNECTIONS: z.coerce.number().int().min(3).default(20),
  /** Connections reserved for turns, runtimes and events. Default: 30 %, at least one. */
  DATABASE_BACKGROUND_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  /** Connections reserved for extending leases. Default: 2, or 1 if there are fewer than ten connections. */
  DATABASE_LEASE_CONNECTIONS: z.coerce.number().int().min(1).optional(),
  ...migrationSettings,
  /** `off` for a pooler that changes a session's connection and does not support prepared statements. */
  DATABASE_PREPARED_STATEMENTS: z.enum(['on', 'off']).default('on'),
  /**
   * Carries realtime events and counts for rate limits: one server, `redis-cluster://` or `redis-sentinel://`. Optional only
   * if the gateway runs in the same process.
   */
  REALTIME_REDIS_URL: secret(valkeyUrl.optional()),

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
  /**
   * The page signs users in with this client id; it must be one of the issuer's audiences. Without it, the page is not
   * served.
   */
  WEB_CLIENT_ID: z.string().min(1).optional(),
  /** One of OIDC_ISSUERS. Default: the first one. */
  WEB_ISSUER: z.url().optional(),
  WEB_SCOPES: z.string().min(1).default('openid email profile'),
  /**
   * Further origins where the issuer has endpoints, comma-separated. Browsers let the page connect only to known
   * origins.
   */
  WEB_ISSUER_ORIGINS: list
    .refine((urls) => urls.every(isOrigin), 'expected origins such as https://login.example.com')
    .default([]),

  /**
   * Rate limits: the sustained rate per second (0 disables the limit) and the burst. They count requests per address,
   * requests per user, messages per user (REST and sockets together), searches per user, and requests per trigger.
   */
  RATE_IP_PER_S: perSecond(LIMITS.rates.ip.perSecond),
  RATE_IP_BURST: burst(LIMITS.rates.ip.burst),
  RATE_USER_PER_S: perSecond(LIMITS.rates.user.perSecond),
  RATE_USER_BURST: burst(LIMITS.rates.user.burst),
  RATE_SENDS_PER_S: perSecond(LIMITS.rates.sends.perSecond),
  RATE_SENDS_BURST: burst(LIMITS.rates.sends.burst),
  RATE_SEARCH_PER_S: perSecond(LIMITS.rates.search.perSecond),
  RATE_SEARCH_BURST: burst(LIMITS.rates.search.burst),
  RATE_TRIGGERS_PER_S: perSecond(LIMITS.rates.triggers.perSecond),
  RATE_TRIGGERS_BURST: burst(LIMITS.rates.triggers.burst),
  /** Time limit in ms for a search in a conversation. */
  SEARCH_TIMEOUT_MS: z.coerce.number().int().min(100).max(600_000).default(LIMITS.searchTimeoutMs),

  /** `[{"issuer": "https://…", "audience": "…"}]` */
  OIDC_ISSUERS: json(Issuers),
  /** Allows http URLs on other machines for issuers and key sets; for test issuers in a cluster. */
  OIDC_ALLOW_HTTP: flag.default(false),
  /** Minimum ms between two key fetches from an issuer because of an unknown key id. */
  OIDC_JWKS_COOLDOWN_MS: z.coerce.number().int().min(0).default(30_000),
  /** Allowed clock skew in seconds. */
  OIDC_CLOCK_TOLERANCE_S: z.coerce.number().int().min(0).max(300).default(5),

  SIGNATURE_MODE: z.enum(['off', 'required']).default('required'),
  SIGNATURE_SECRET: secret(secretText(16).optional()),
  // Each *_PREVIOUS lists further secrets that are accepted: docs/rotating-keys.md.
  /** Secrets in other app versions. */
  SIGNATURE_SECRET_PREVIOUS: secret(previousSecrets(16).default([])),

  /** `<id>:<secret>`; realtime gateways have the same one. */
  INTERNAL_API_KEY: secret(secretText(32)),
  INTERNAL_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `<id>:<secret>`; the model gateway has the same one. Required with MODEL_TOKEN_SIGNING_KEY. */
  MODEL_CALLS_KEY: secret(secretText(32).optional()),
  MODEL_CALLS_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** `<id>:<secret>` for operators with uswarmctl. Without a key or OPERATOR_ISSUERS, the admin API is disabled. */
  ADMIN_API_KEY: secret(secretText(32).optional()),
  ADMIN_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Operators' keys by name: see `OperatorKeys`. */
  ADMIN_API_KEYS: secret(json(OperatorKeys).optional()),
  /** Issuers that sign operators in, with the rights that claims give: see `OperatorIssuers`. */
  OPERATOR_ISSUERS: json(OperatorIssuers).default([]),
  /** Logs contain client addresses or their keyed hashes. */
  LOG_SOURCE_ADDRESS: z.enum(SOURCE_ADDRESSES).default('hash'),
  CURSOR_KEY: secret(secretText(32)),
  CURSOR_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Keys the identity hash, which is kept when an account is deleted. */
  IDENTITY_HASH_KEY: secret(secretText(32)),
  /** Earlier keys. Accounts that were deleted under a key that is missing here are forgotten. */
  IDENTITY_HASH_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** Ed25519 private key (PKCS #8 PEM) that signs calls to runtimes. The key for receipts is derived from it. */
  CALL_PRIVATE_KEY: secret(privateKeyPem),
  /** During a key rotation: the previous key, for runtimes that have its public key. */
  CALL_PRIVATE_KEY_PREVIOUS: secret(privateKeyPem.optional()),

  /** Runs runtimes as processes on this machine, or as pods that UserSwarms define. */
  RUNTIME_DRIVER: z.enum(['process', 'kubernetes']),
  /** Runtimes that this process reconciles concurrently; 0 leaves them to other replicas. */
  RUNTIME_WORKERS: z.coerce.number().int().min(0).max(1_000).default(16),
  /** Seconds without work after which a runtime is suspended; 0 disables it. Default: see `idleSuspendAfterMs`. */
  IDLE_SUSPEND_AFTER_S: z.coerce.number().int().min(0).max(31_536_000).optional(),

  // With RUNTIME_DRIVER=kubernetes:
  RUNTIME_NAMESPACE: DnsLabel.default(DEFAULT_RUNTIME_NAMESPACE),
  /**
   * Calls runtimes with a waiting turn while their pods start. Needs to list and watch EndpointSlices in that
   * namespace.
   */
  CALL_STARTING_RUNTIMES: flag.default(true),
  /** The Secret in that namespace with the runtimes' environment. An empty value means none. */
  RUNTIME_ENV_SECRET: DnsSubdomain.default(SHARED_MODEL_SECRET),
  /** Model provider slug for agents that name none. */
  RUNTIME_DEFAULT_PROVIDER: DnsLabel.optional(),
  RUNTIME_DEFAULT_MODEL: z.string().max(253).optional(),
  /** `<namespace>/<name>` of the ConfigMap that marks an uninstall in progress. */
  DRAIN_FLAG: namespacedName.optional(),

  /** `<id>:<secret>`; signs runtime tokens for the tool server. Without it runtimes cannot use the server. */
  SVC_MCP_SIGNING_KEY: secret(signingKey.optional()),
  /** `<id>:<secret>`; signs runtime tokens for the model gateway. Set it only if runtimes use a gateway. */
  MODEL_TOKEN_SIGNING_KEY: secret(signingKey.optional()),

  /** Model gateway origin, for recordings. Runtime processes then get neither a provider key nor a provider address. */
  MODEL_GATEWAY_URL: z.url({ protocol: /^https?$/ }).optional(),

  // With RUNTIME_DRIVER=process:
  /** Path to the agent runtime's entry point. Required for this driver. */
  RUNTIME_PROGRAM: z.string().min(1).optional(),
  /** Maximum runtime processes. Further starts wait until an idle runtime is suspended. 0: no limit. */
  RUNTIME_MAX_PROCESSES: z.coerce.number().int().min(0).max(1_000).default(0),
  /** Started runtime processes that wait for a workspace, in addition to RUNTIME_MAX_PROCESSES. */
  RUNTIME_WARM_PROCESSES: z.coerce.number().int().min(0).max(100).default(0),
  /** Maximum concurrent runtime process starts. Default: one per processor core. */
  RUNTIME_MAX_STARTS: z.coerce.number().int().min(1).max(1_000).optional(),
  /**
   * A starting runtime process is killed after this many ms without progress. A slow start that makes progress is not.
   */
  RUNTIME_START_MS: z.coerce.number().int().min(100).max(3_600_000).default(15_000),
  SVC_MCP_ENDPOINT: z.string().min(1).optional(),
  /** Runtime processes write their logs to this folder. */
  RUNTIME_LOG_DIRECTORY: z.string().optional(),

  /** Public API URL; file links begin with it. Default: relative links. */
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),

  /** Stores files in an S3 bucket or in a local folder. */
  OBJECT_STORE: z.enum(['s3', 'file']),
  /** Required with OBJECT_STORE=file. */
  OBJECT_DIRECTORY: z.string().optional(),
  // With OBJECT_STORE=s3:
  /** Default: Amazon S3's endpoint in the region. */
  S3_ENDPOINT: z.url({ protocol: /^https?$/ }).optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: z.string().optional(),
  S3_PREFIX: z.string().max(200).default('uploads/'),
  /** Set both or neither. Without them the SDK uses the pod's or the machine's role. */
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
  /** Maximum total bytes per user. */
  UPLOAD_BYTES_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadBytesPerUser),
  /** Files that this process receives concurrently; each needs about 10 MiB of memory with OBJECT_STORE=s3. */
  UPLOADS_AT_ONCE: z.coerce.number().int().min(1).max(1_000).default(16),
  /** The same per user. */
  UPLOADS_AT_ONCE_PER_USER: z.coerce.number().int().min(1).max(1_000).default(2),
  UPLOADS_PER_USER: z.coerce.number().int().min(1).default(LIMITS.uploadsPerUser),
  /** An upload is aborted after this many ms without data. */
  UPLOAD_STALL_MS: z.coerce.number().int().min(100).max(600_000).default(10_000),
  /**
   * Minimum upload bytes in 20 seconds. The default is just below 8 KiB/s, at which the largest file fits the request
   * timeout.
   */
  UPLOAD_MIN_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(128 * 1024),
  /** Lets agents run Python and JavaScript that they write, in processes with limits: docs/agents.md. */
  CODE_RUNNER_ENABLED: flag.default(false),
  /** Programs that run concurrently; each needs at most 512 MiB of memory. */
  CODE_RUNNER_PROCESSES: z.coerce.number().int().min(1).max(64).default(1),

  /** Minimum seconds between two exports per user, and between two imports. */
  EXPORT_INTERVAL_S: z.coerce.number().int().min(0).default(LIMITS.exportIntervalS),
  EXPORTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.exportsKeptDays),
  WORKSPACES_PER_USER: z.coerce.number().int().min(1).max(1_000).default(LIMITS.workspacesPerUser),
  /** Sign-ups per identity within a day after its account was deleted; 0 disables the limit. */
  SIGN_UPS_AFTER_DELETION_PER_DAY: z.coerce.number().int().min(0).max(1_000).default(LIMITS.signUpsAfterDeletionPerDay),
  /**
   * Deleting an account requires a sign-in at the identity provider (`auth_time`) of at most this age in seconds.
   * Default: any.
   */
  DELETION_MAX_AUTH_AGE_S: z.coerce.number().int().min(1).max(31_536_000).optional(),
  /** Days until an API token expires, if its user states no time, and at most. */
  API_TOKEN_DAYS: z.coerce.number().int().min(1).max(3_660).default(LIMITS.apiTokenDays),
  API_TOKEN_MAX_DAYS: z.coerce.number().int().min(1).max(3_660).default(LIMITS.apiTokenMaxDays),
  CONVERSATIONS_PER_WORKSPACE: z.coerce.number().int().min(1).max(10_000).default(LIMITS.conversationsPerWorkspace),
  /** Durable events are kept this long. */
  EVENTS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.eventsKeptDays),
  /**
   * Fixes the events' epoch. Set it only if a database failover loses no commit: clients then do not reload after it.
   */
  EVENTS_EPOCH: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/)
    .optional(),
  /** Finished turns' model calls, tool calls and results are kept this long. */
  JOURNALS_KEPT_DAYS: z.coerce.number().int().min(1).max(365).default(LIMITS.journalsKeptDays),

  /**
   * Maintenance jobs per type (pruning, files, tokens) that this process handles concurrently; 0 leaves them to other
   * replicas.
   */
  UPKEEP_WORKERS: z.coerce.number().int().min(0).max(1_000).default(6),

  /** OAuth clients: `{"gmail": {"client_id": "…", "client_secret": "…", "redirect_urls": ["…"]}}` */
  INTEGRATION_PROVIDERS: secret(json(IntegrationProviders).default({})),
  /** `<id>:<32 bytes as base64>`, comma-separated. The first key encrypts OAuth tokens, all keys decrypt. */
  INTEGRATION_TOKEN_KEYS: secret(TokenKeys.optional()),
  /** Default: the built-in catalogue. */
  INTEGRATION_CATALOG_FILE: z.string().optional(),

  /**
   * Sends push notifications with Firebase Cloud Messaging: a Google service account's JSON key file. Default: none are
   * sent.
   */
  PUSH_SERVICE_ACCOUNT: secret(json(ServiceAccount).optional()),
  /** Firebase Cloud Messaging's address, without a trailing slash. */
  PUSH_URL: z.url().default('https://fcm.googleapis.com'),
  /** Sends push notifications to Apple's service without Firebase: PEM from the .p8 key file. */
  APNS_KEY: secret(privateKeyPem.optional()),
  /** The key's id, and the id of its team. */
  APNS_KEY_ID: appleId.optional(),
  APNS_TEAM_ID: appleId.optional(),
  /** The app's bundle id. */
  APNS_TOPIC: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,155}$/)
    .optional(),
  /** `sandbox` for developer builds. */
  APNS_ENVIRONMENT: z.enum(['production', 'sandbox']).default('production'),
  /** Another server with Apple's API, without a trailing slash. */
  APNS_URL: z.url().optional(),
  /** Sends push notifications to browsers (Web Push): VAPID's private key, 32 bytes as base64url. */
  WEB_PUSH_PRIVATE_KEY: secret(VapidKeys.optional()),
  /** Contact for push service operators: a mailto: or https: URL. */
  WEB_PUSH_CONTACT: z
    .string()
    .regex(/^(?:mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/)
    .optional(),
  /**
   * Browser push services that may have a private address, comma-separated host names. Browsers name these hosts;
   * others are refused.
   */
  WEB_PUSH_PRIVATE_HOSTS: hostList.default([]),
  /**
   * Notifications contain the agent's name and the start of the message, which pass through Google's and Apple's
   * servers.
   */
  PUSH_PREVIEW: flag.default(true),
  /** Milliseconds from an answer to its notification, in which a device can report that it has received it. */
  PUSH_DELAY_MS: z.coerce.number().int().min(0).max(600_000).default(LIMITS.positions.announceMs),

  MEMORIES_PER_AGENT: z.coerce.number().int().min(1).max(10_000).default(LIMITS.memoriesPerAgent),
  /** Maximum bytes per memory. */
  MEMORY_BYTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(64 * 1024)
    .default(LIMITS.memoryBytes),

  /** Another replica takes over a crashed replica's turns and runtimes after this many ms. */
  WORK_LEASE_MS: z.coerce.number().int().min(1_000).max(600_000).default(10_000),
  /** Concurrent turns per user; further ones are queued behind other users' turns. */
  TURNS_PER_USER: z.coerce.number().int().min(1).max(1_000).default(6),
  /** A running turn fails after this many seconds. */
  TURN_DEADLINE_S: z.coerce.number().int().min(1).max(86_400).default(1_800),
  /** Concurrent conversation summaries, and as many titles. 0 turns them off. */
  SUMMARY_WORKERS: z.coerce.number().int().min(0).max(100).default(2),
  /** Lets other systems start runs through URLs that users create. */
  TRIGGERS_ENABLED: flag.default(true),
  /** Lets users and agents schedule runs. Turned off, due schedules rest. */
  SCHEDULES_ENABLED: flag.default(true),
  /** Schedules and triggers that start concurrently, each. A start only stores a message. */
  SCHEDULE_WORKERS: z.coerce.number().int().min(0).max(100).default(4),
  /** Maximum number of active and paused schedules and triggers per user. */
  SCHEDULES_PER_USER: z.coerce.number().int().min(1).max(1_000).default(LIMITS.schedulesPerUser),
  /** Least seconds between two runs of a schedule. */
  SCHEDULE_INTERVAL_S: z.coerce.number().int().min(60).max(86_400).default(LIMITS.scheduleIntervalS),
  /** Recurring schedules start within these seconds after their time, so that they do not crowd at full hours. */
  SCHEDULES_SPREAD_S: z.coerce.number().int().min(0).max(600).default(60),
  TURN_WORKERS: z.coerce.number().int().min(0).max(1_000).default(32),
  LEGAL_DIRECTORY: z.string().optional(),
  /** Applies to documents without a separate version. */
  LEGAL_VERSION: z.string().max(100).default('1'),
  LEGAL_TERMS_VERSION: z.string().max(100).optional(),
  LEGAL_PRIVACY_VERSION: z.string().max(100).optional(),
  /** JSON file with the plans. Default: the built-in ones. */
  PLANS_FILE: z.string().optional(),
  /** JSON file: new workspaces begin with its agents. Default: the built-in ones. */
  AGENTS_FILE: z.string().optional(),
  /** JSON file with the MCP servers whose tools agents can use. Default: none. */
  TOOL_SERVERS_FILE: z.string().optional(),
  /** Directory with the tokens for these servers, one file each. */
  TOOL_SERVER_SECRETS: z.string().optional(),
  /** Users may add tool servers on the internet. */
  USER_TOOL_SERVERS: flag.default(false),
  USER_TOOL_SERVERS_PER_USER: z.coerce.number().int().min(1).max(50).default(10),
  /**
   * Where authorization servers send the browser back, comma-separated; `{server}` is replaced by the tool server's id.
   * Apps receive the first one. Without one, users cannot connect accounts.
   */
  USER_TOOL_SERVERS_REDIRECT_URLS: list
    .refine((urls) => urls.every((url) => URL.canParse(url)), 'must be URLs')
    .default([]),
  /** Hosts on a private network whose servers users may add nevertheless, comma-separated. Others are refused. */
  USER_TOOL_SERVERS_PRIVATE_HOSTS: hostList.default([]),
  /** Users may create webhooks to servers on the internet. */
  USER_WEBHOOKS: flag.default(false),
  USER_WEBHOOKS_PER_WORKSPACE: z.coerce.number().int().min(1).max(50).default(10),
  /** Hosts on a private network that users may name nevertheless, comma-separated. Others are refused. */
  USER_WEBHOOKS_PRIVATE_HOSTS: hostList.default([]),
  /** Webhooks to which this process sends concurrently. */
  USER_WEBHOOK_WORKERS: z.coerce.number().int().min(0).max(256).default(16),
  /** JSON file with the models and their limits. Default: the built-in ones. */
  MODELS_FILE: z.string().optional(),
  /**
   * The model gateway's model for recordings, with MODEL_GATEWAY_URL and MODEL_TOKEN_SIGNING_KEY. Without it, recordings
   * are not transcribed.
   */
  TRANSCRIPTION_MODEL: z.string().min(1).max(256).optional(),
  /** Longer recordings are not transcribed. */
  TRANSCRIPTION_MAX_MINUTES: z.coerce.number().min(1).max(1_440).default(60),
  /** Its price in micro US dollars, per minute of audio and per million tokens. Without one, it has no cost. */
  TRANSCRIPTION_PRICE_PER_MINUTE: price,
  TRANSCRIPTION_PRICE_INPUT: price,
  TRANSCRIPTION_PRICE_OUTPUT: price,
  /** Recordings that this process sends concurrently; 0 leaves them to other replicas. */
  TRANSCRIPTION_WORKERS: z.coerce.number().int().min(0).max(100).default(4),
  /** The provider in the model catalogue. Runtimes have a separate setting. */
  MODEL_PROVIDER: z.string().default('demo'),
  /** Migrates before serving. If false, the start only checks the schema. */
  MIGRATE: flag.default(true),
  /** Seconds to wait for the database at the start. */
  DATABASE_WAIT_S: databaseWait(60),
  LOG_LEVEL: z.string().default('info'),
});
export type OrchestratorConfig = z.output<typeof OrchestratorConfig> & {
  /** Proxies for calls that leave the platform. */
  proxy: OutgoingProxy;
};

/** @throws ConfigError, or Error if settings contradict each other */
export function readConfig(environment: Record<string, string | undefined>): OrchestratorConfig {
  const config = { ...loadConfig(OrchestratorConfig, environment), proxy: readProxy(environment) };
  // An empty variable usually means unset. Here it means no Secret.
  return checkConfig(environment['RUNTIME_ENV_SECRET'] === '' ? { ...config, RUNTIME_ENV_SECRET: '' } : config);
}

/** If the model gateway's key were also another service's key, the gateway could call that service's routes. */
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

/** The model gateway calls the internal API with the current key, or with a previous one during a rotation. */
export const modelCallsKeys = (
  config: Pick<OrchestratorConfig, 'MODEL_CALLS_KEY' | 'MODEL_CALLS_KEY_PREVIOUS'>,
): SigningKey[] =>
  config.MODEL_CALLS_KEY === undefined ? [] : parseSigningKeys(config.MODEL_CALLS_KEY, config.MODEL_CALLS_KEY_PREVIOUS);

function requireTokenKeys(config: OrchestratorConfig): void {
  if (config.INTEGRATION_TOKEN_KEYS !== undefined) return;
  const needs = {
    INTEGRATION_PROVIDERS: Object.keys(config.INTEGRATION_PROVIDERS).length > 0,
    USER_TOOL_SERVERS: config.USER_TOOL_SERVERS,
    USER_WEBHOOKS: config.USER_WEBHOOKS,
  };
  const name = Object.entries(needs).find(([, needed]) => needed)?.[0];
  if (name !== undefined) throw new Error(`INTEGRATION_TOKEN_KEYS is not set; ${name} needs it`);
}

/** Checks rules between settings. @throws Error naming the settings */
export function checkConfig(config: OrchestratorConfig): OrchestratorConfig {
  if (config.SIGNATURE_MODE === 'required' && config.SIGNATURE_SECRET === undefined) {
    throw new Error('SIGNATURE_SECRET is not set; SIGNATURE_MODE=required needs it');
  }
  checkModelCallsKey(config);
  requireTokenKeys(config);
  if (config.API_TOKEN_DAYS > config.API_TOKEN_MAX_DAYS) {
    throw new Error('API_TOKEN_DAYS is greater than API_TOKEN_MAX_DAYS');
  }
  requireSecurePush(config);
  requireAllOrNone(config, ['WEB_PUSH_PRIVATE_KEY', 'WEB_PUSH_CONTACT']);
  requireAllOrNone(config, ['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_TOPIC']);
  requireSecureIssuers(config);
  requireOperatorAudiences(config);
  pageSettings(config);
  objectSettings(config);
  policiesOf(config);
  connectionsOf(config);
  return config;
}

/** An attacker who can replace an issuer's keys in transit can sign in as any user. */
function requireSecureIssuers({ OIDC_ISSUERS, OPERATOR_ISSUERS, OIDC_ALLOW_HTTP }: OrchestratorConfig): void {
  if (OIDC_ALLOW_HTTP) return;
  for (const [name, issuers] of Object.entries({ OIDC_ISSUERS, OPERATOR_ISSUERS })) {
    const urls = issuers.flatMap(({ issuer, jwks_uri: keys = issuer }) => [issuer, keys]);
    const insecure = urls.find((url) => !isSecureUrl(url));
    if (insecure !== undefined) {
      throw new Error(`${name}: ${insecure} needs https; OIDC_ALLOW_HTTP=true allows http, for test issuers only`);
    }
  }
}

/** App servers hold user tokens: with a shared audience, an operator's would be among them. @throws Error */
function requireOperatorAudiences({ OIDC_ISSUERS, OPERATOR_ISSUERS }: OrchestratorConfig): void {
  for (const { issuer, audience } of OPERATOR_ISSUERS) {
    const ofApp = OIDC_ISSUERS.find((each) => each.issuer === issuer);
    const shared = [audience].flat().find((each) => [ofApp?.audience ?? []].flat().includes(each));
    if (shared !== undefined) {
      throw new Error(`OPERATOR_ISSUERS: ${shared} is an audience of ${issuer} in OIDC_ISSUERS; use a separate client`);
    }
  }
}

/** Google keys and device tokens are sent to these addresses. @throws Error */
function requireSecurePush({ PUSH_URL, PUSH_SERVICE_ACCOUNT, APNS_URL = PUSH_URL }: OrchestratorConfig): void {
  const urls = [PUSH_URL, PUSH_SERVICE_ACCOUNT?.token_uri ?? PUSH_URL, APNS_URL];
  const insecure = urls.find((url) => !isSecureUrl(url));
  if (insecure !== undefined) throw new Error(`PUSH_URL, PUSH_SERVICE_ACCOUNT, APNS_URL: ${insecure} needs https`);
}

/** @throws Error if only some of a service's settings are present */
function requireAllOrNone(config: OrchestratorConfig, names: readonly (keyof OrchestratorConfig)[]): void {
  const missing = names.filter((name) => config[name] === undefined);
  if (missing.length > 0 && missing.length < names.length)
    throw new Error(`${missing.join(', ')}: not set; ${names.join(', ')} belong together`);
}

/** Returned by `GET /v1/health`. */
export function serviceVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
