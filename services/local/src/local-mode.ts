import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { LIMITS } from '@uswarm/contract';
import { CONNECTION_VARIABLES, MODEL_PROVIDER_METADATA } from '@uswarm/contract/providers';
import { createMemoryBus } from '@uswarm/event-bus';
import { createOrchestrator } from '@uswarm/orchestrator';
import { readConfig, serviceVersion } from '@uswarm/orchestrator/config';
import { createEndToEndBypass } from '@uswarm/orchestrator/e2e-bypass';
import { migrate } from '@uswarm/orchestrator/migrate';
import { createGateway, createGatewayMetrics, createOrchestratorClient } from '@uswarm/realtime-gateway';
import {
  type CloseStack,
  createMetrics,
  listen,
  type Logger,
  openPort,
  parseSigningKey,
  startOpsServer,
} from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import { startTracing } from '@uswarm/service-kit/start-tracing';
import {
  DEVELOPMENT_CLIENT_ID,
  startOidcIssuer,
  requirePython,
  startPostgres,
  startSearxng,
} from '@uswarm/dev-servers';
import { type DataFolder, openDataFolder } from './data-folder.js';
import { isTrustedHost } from './host-guard.js';
import { createLocalSearch, type LocalSearch } from './local-search.js';
import { startModelGatewayPart } from './model-gateway-part.js';
import { createOriginRule, guardRequests } from './origin-guard.js';
import { createPages, type ServePage } from './pages.js';
import { checkPortFree } from './port-check.js';
import type { RunningLocal } from './running-local.js';
import { startSearchPart } from './search-part.js';
import type { Settings } from './settings.js';

const HOST = '127.0.0.1';
const ISSUER_PATH = '/dev/issuer';
/** Push services require an address. */
const PUSH_CONTACT = 'mailto:developer@example.com';
/** Milliseconds; a busy machine needs more than half a minute. */
const SEARXNG_START_MS = 180_000;

export interface LocalModeDeps {
  settings: Settings;
  /** Called after the data folder exists, because the log is in it. */
  createLog: (file: string) => Logger;
  /** Called with one line at the beginning of each step. */
  progress: (line: string) => void;
  stack: CloseStack;
  /** Ends startup between two steps; `stack` contains the started components. */
  signal: AbortSignal;
}

/**
 * Starts all services in this process, in the order of their dependencies.
 * @throws LocalError; the signal's reason if it ended startup
 */
export async function startLocalMode(deps: LocalModeDeps): Promise<RunningLocal> {
  const { settings, createLog, progress, stack, signal } = deps;
  const { port, network } = settings;
  const url = `http://${network.urlHost}:${port}`;
  const issuerUrl = `${url}${ISSUER_PATH}`;
  const folder = openDataFolder({ directory: settings.dataDirectory, url });
  stack.defer('data folder', folder.close);
  await checkPortsFree(settings);
  const logger = createLog(folder.file('uswarm.log'));
  const endTracing = await startTracing('local', logger, settings.environment);
  if (endTracing !== undefined) stack.defer('tracing', endTracing);

  const databaseUrl = await startDatabase(folder, deps, logger);
  const search = await prepareSearch(folder, deps);
  const toolServer = settings.toolServer ?? (await startTools(search, folder, deps, logger));

  signal.throwIfAborted();
  progress('Starting the services');
  const issuer = await startOidcIssuer({
    issuerUrl,
    keysFile: folder.file('issuer-keys.json'),
    tokensForOtherMachines: network.shared,
  });
  stack.defer('development issuer', issuer.close);
  const metrics = createMetrics('local');
  const modelGateway =
    settings.modelProvider === 'demo'
      ? undefined
      : await startModelGatewayPart({
          environment: settings.environment,
          secrets: folder.secrets,
          host: HOST,
          metrics,
          logger,
          stack,
        });
  const environment = orchestratorEnvironment({
    settings,
    folder,
    databaseUrl,
    url,
    issuerUrl,
    toolServer,
    modelGatewayUrl: modelGateway?.url,
  });
  const bus = createMemoryBus({ logger });
  stack.defer('event bus', () => bus.close());
  const orchestrator = await createOrchestrator({
    config: { ...readConfig(environment), proxy: settings.proxy },
    bus,
    logger,
    metrics,
    version: serviceVersion(),
    environment: settings.environment,
    ownsRuntimes: true,
    ...(settings.e2eToken === undefined ? {} : { bypass: createEndToEndBypass(settings.e2eToken) }),
  });
  stack.defer('orchestrator', orchestrator.close);

  const internal = await listen(orchestrator.internalApp, { host: HOST, port: 0 });
  stack.defer('internal API', () => internal.close(0));
  modelGateway?.connect(internal.url);
  const ops = await startOpsServer({ host: HOST, port: 0, metrics, ready: orchestrator.ready });
  stack.defer('operations port', () => ops.close(0));

  const running: RunningLocal = {
    url,
    issuer: issuerUrl,
    e2eToken: settings.e2eToken,
    model: describeModel(settings),
    search: settings.toolServer === undefined ? search.describe : () => `the tool server ${toolServer.endpoint}`,
    dataDirectory: folder.path,
    shared: network.shared,
    environment: settings.environment,
  };
  const pages = createPages(running);
  const httpServer = createServer(route(pages, issuer.listener, orchestrator.app));
  const trustsOrigin = createOriginRule(settings.corsOrigins);
  const internalKey = parseSigningKey(folder.secrets.internal_api_key);
  const internalClient = createOrchestratorClient({ url: internal.url, key: internalKey });
  stack.defer('internal client', () => internalClient.close());
  const gateway = createGateway({
    httpServer,
    orchestrator: internalClient,
    bus,
    logger,
    metrics: createGatewayMetrics(metrics),
    resumeKeys: [internalKey],
    settings: { shutdownWindowMs: 0 },
    admit: (request) => isTrustedHost(request.headers.host) && trustsOrigin(request),
  });
  // After the gateway has added its listeners.
  guardRequests(httpServer, trustsOrigin);
  await openPublicPorts(httpServer, settings, stack).catch(async (error: unknown) => {
    // Another process took a port after the check.
    await checkPortsFree(settings);
    throw error;
  });
  stack.defer('gateway', () => gateway.close());

  folder.writeAdminJson({ url: internal.url, key: folder.secrets.admin_api_key, pid: process.pid });
  folder.writeLocalJson({ url, issuer: issuerUrl, e2e_token: settings.e2eToken ?? null, pid: process.pid });
  const proxies = settings.proxy.origins;
  logger.info({ url, ops: ops.url, internal: internal.url, mcp: toolServer.endpoint, proxies }, 'listening');
  // After everything else, which it would slow down.
  search.begin();
  return running;
}

async function checkPortsFree({ port, network }: Settings): Promise<void> {
  for (const host of network.addresses) await checkPortFree({ port, host });
}

/** All addresses' connections belong to one server, so that the gateway sees each of them. */
async function openPublicPorts(server: Server, { port, network }: Settings, stack: CloseStack): Promise<void> {
  const [first, ...others] = network.addresses;
  const http = await listen(server, { host: first, port, requestTimeoutMs: LIMITS.requestMs });
  stack.defer('public port', () => http.close(1_000));
  for (const host of others) {
    const other = createNetServer((connection) => server.emit('connection', connection));
    await openPort(other, { host, port });
    stack.defer(`port on ${host}`, async () => void other.close());
  }
}

async function startDatabase(
  folder: DataFolder,
  { progress, stack, signal }: LocalModeDeps,
  logger: Logger,
): Promise<string> {
  signal.throwIfAborted();
  progress('Starting Postgres');
  const postgres = await startPostgres({
    directory: folder.file('postgres'),
    ownFolder: folder.path,
    keepRunning: true,
    onProgress: progress,
  });
  stack.defer('Postgres', () => postgres.close());
  if (postgres.outside !== undefined) {
    progress(`The database is in ${postgres.outside}. After the data folder is deleted, the next start deletes it`);
  }
  signal.throwIfAborted();
  const url = await postgres.createDatabase('uswarm');
  progress('Migrating the database');
  await migrate(url, logger);
  return url;
}

/** SearXNG is started by `begin`, unless another tool server searches. */
async function prepareSearch(
  folder: DataFolder,
  { settings, progress, stack, signal }: LocalModeDeps,
): Promise<LocalSearch> {
  signal.throwIfAborted();
  const search = await createLocalSearch({
    search: settings.toolServer === undefined ? settings.search : { kind: 'off' },
    outgoing: createOutgoing(settings.proxy),
    findPython: () => requirePython({ title: 'SearXNG' }),
    start: (python, stop) =>
      startSearxng({
        directory: folder.file('searxng'),
        logFile: folder.file('searxng.log'),
        python,
        onProgress: progress,
        signal: stop,
        startMs: SEARXNG_START_MS,
      }),
    progress,
  });
  stack.defer('SearXNG', search.close);
  return search;
}

type ToolServer = NonNullable<Settings['toolServer']>;

/** Starts the search tool's server. */
async function startTools(
  { webSearch }: LocalSearch,
  { secrets }: DataFolder,
  { settings, stack }: LocalModeDeps,
  logger: Logger,
): Promise<ToolServer> {
  const signingKey = secrets.mcp_signing_key;
  const search = await startSearchPart({ search: webSearch, signingKey, proxy: settings.proxy, logger });
  stack.defer('search tool', search.close);
  return { endpoint: search.mcpEndpoint, signingKey };
}

interface OrchestratorSettings {
  settings: Settings;
  folder: DataFolder;
  databaseUrl: string;
  url: string;
  issuerUrl: string;
  toolServer: ToolServer;
  /** Undefined with the demo provider. */
  modelGatewayUrl: string | undefined;
}

function orchestratorEnvironment(options: OrchestratorSettings) {
  const { settings, folder, databaseUrl, url, issuerUrl, toolServer, modelGatewayUrl } = options;
  const { secrets } = folder;
  return {
    DATABASE_URL: databaseUrl,
    // The id does not depend on the port, so that users keep their identity.
    OIDC_ISSUERS: JSON.stringify([
      {
        id: 'development',
        issuer: issuerUrl,
        audience: DEVELOPMENT_CLIENT_ID,
        // By loopback, for which no company proxy is asked.
        jwks_uri: `http://${HOST}:${settings.port}${ISSUER_PATH}/jwks`,
      },
    ]),
    // The issuer has the address by which phones reach it.
    OIDC_ALLOW_HTTP: String(settings.network.shared),
    SIGNATURE_MODE: settings.signature.mode,
    SIGNATURE_SECRET: settings.signature.secret,
    INTERNAL_API_KEY: secrets.internal_api_key,
    ADMIN_API_KEY: secrets.admin_api_key,
    OPERATOR_ISSUERS: settings.environment['OPERATOR_ISSUERS'],
    CURSOR_KEY: secrets.cursor_key,
    IDENTITY_HASH_KEY: secrets.identity_key,
    CALL_PRIVATE_KEY: secrets.call_private_key,
    PUBLIC_URL: url,
    DOCS_ENABLED: 'true',
    CODE_RUNNER_ENABLED: settings.environment['CODE_RUNNER_ENABLED'],
    SCHEDULES_ENABLED: settings.environment['SCHEDULES_ENABLED'],
    TRIGGERS_ENABLED: settings.environment['TRIGGERS_ENABLED'],
    SCHEDULES_SPREAD_S: settings.environment['SCHEDULES_SPREAD_S'],
    SCHEDULE_INTERVAL_S: settings.environment['SCHEDULE_INTERVAL_S'],
    OBJECT_STORE: 'file',
    OBJECT_DIRECTORY: folder.file('uploads'),
    INTEGRATION_PROVIDERS: settings.environment['INTEGRATION_PROVIDERS'],
    INTEGRATION_TOKEN_KEYS: secrets.integration_token_keys,
    WEB_PUSH_PRIVATE_KEY: secrets.web_push_private_key,
    WEB_PUSH_CONTACT: settings.environment['WEB_PUSH_CONTACT'] ?? PUSH_CONTACT,
    WEB_PUSH_PRIVATE_HOSTS: settings.environment['WEB_PUSH_PRIVATE_HOSTS'],
    PUSH_DELAY_MS: settings.environment['PUSH_DELAY_MS'],
    RUNTIME_DRIVER: 'process',
    RUNTIME_PROGRAM: fileURLToPath(new URL('../../agent-runtime/dist/main.js', import.meta.url)),
    RUNTIME_MAX_PROCESSES: String(settings.maxRuntimes),
    RUNTIME_WARM_PROCESSES: String(settings.warmRuntimes),
    RUNTIME_MAX_STARTS: settings.environment['RUNTIME_MAX_STARTS'],
    RUNTIME_START_MS: settings.environment['RUNTIME_START_MS'],
    RUNTIME_LOG_DIRECTORY: folder.file('runtimes'),
    SVC_MCP_SIGNING_KEY: toolServer.signingKey,
    SVC_MCP_ENDPOINT: toolServer.endpoint,
    ...(modelGatewayUrl === undefined
      ? {}
      : {
          MODEL_GATEWAY_URL: modelGatewayUrl,
          MODEL_TOKEN_SIGNING_KEY: secrets.model_token_key,
          MODEL_CALLS_KEY: secrets.model_calls_key,
        }),
    MODEL_PROVIDER: settings.modelProvider,
    MODELS_FILE: settings.environment['MODELS_FILE'],
    ...transcriptionSettings(settings.environment),
    AGENTS_FILE: settings.environment['AGENTS_FILE'],
    TOOL_SERVERS_FILE: settings.environment['TOOL_SERVERS_FILE'],
    TOOL_SERVER_SECRETS: settings.environment['TOOL_SERVER_SECRETS'],
    USER_WEBHOOKS: settings.environment['USER_WEBHOOKS'],
    USER_WEBHOOKS_PER_WORKSPACE: settings.environment['USER_WEBHOOKS_PER_WORKSPACE'],
    USER_WEBHOOKS_PRIVATE_HOSTS: settings.environment['USER_WEBHOOKS_PRIVATE_HOSTS'],
    USER_TOOL_SERVERS: settings.environment['USER_TOOL_SERVERS'],
    USER_TOOL_SERVERS_PER_USER: settings.environment['USER_TOOL_SERVERS_PER_USER'],
    USER_TOOL_SERVERS_REDIRECT_URLS: settings.environment['USER_TOOL_SERVERS_REDIRECT_URLS'],
    USER_TOOL_SERVERS_PRIVATE_HOSTS: settings.environment['USER_TOOL_SERVERS_PRIVATE_HOSTS'],
    PLANS_FILE: settings.environment['PLANS_FILE'],
    SUMMARY_WORKERS: settings.environment['SUMMARY_WORKERS'],
    LOG_LEVEL: settings.logLevel,
  };
}

/** The gateway reads the same environment. */
const transcriptionSettings = (environment: Settings['environment']) =>
  Object.fromEntries(
    ['MODEL', 'MAX_MINUTES', 'PRICE_PER_MINUTE', 'PRICE_INPUT', 'PRICE_OUTPUT'].map((name) => [
      `TRANSCRIPTION_${name}`,
      environment[`TRANSCRIPTION_${name}`],
    ]),
  );

export function describeModel({ modelProvider, environment }: Pick<Settings, 'modelProvider' | 'environment'>): string {
  const { label, connection } = MODEL_PROVIDER_METADATA[modelProvider];
  return connection === undefined
    ? `${label} (for a real model set ${CONNECTION_VARIABLES.join(', ')})`
    : `${environment[connection.model] ?? 'default model'} at ${environment[connection.baseUrl] ?? new URL(connection.defaultBaseUrl).host} (${label})`;
}

/** One port for pages, the development issuer and the API. socket.io handles its path first. */
function route(pages: ServePage, issuer: RequestListener, app: RequestListener): RequestListener {
  return (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (path === ISSUER_PATH || path.startsWith(`${ISSUER_PATH}/`)) issuer(request, response);
    else if (!isRead(request) || !pages(path, request, response)) app(request, response);
  };
}

/** Node leaves out the body in a response to HEAD. */
const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';
