import { createServer } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { BusEnvelope } from '@uswarm/contract';
import { createMemoryBus, type EventBus } from '@uswarm/event-bus';
import { listen, Registry, silentLogger } from '@uswarm/service-kit';
import { createGateway, type GatewayDeps } from '../src/gateway.js';
import { createResumeTokens, type ResumeTokens } from '../src/features/connection/resume-token.js';
import { createGatewayMetrics } from '../src/metrics/gateway-metrics.js';
import type { OrchestratorClient } from '../src/orchestrator-client.js';
import { DEFAULT_SETTINGS } from '../src/settings.js';
import { MESSAGE } from './envelopes.js';
import { createFakeLog, type FakeLog } from './fake-log.js';
import { type ClientOptions, type ConnectError, connectClient, type TestClient } from './test-client.js';

export const USER = '01890000-0000-7000-8000-0000000000f1';

/** All gateways in a test share it. */
export const RESUME_KEY = { id: 'test', secret: new TextEncoder().encode('of all gateways of a test, 32 bytes long') };

export interface TestGateway {
  url: string;
  bus: EventBus;
  /** The events that the orchestrator has stored. */
  log: FakeLog;
  /** Stores events and delivers them. */
  publish(...envelopes: BusEnvelope[]): Promise<void>;
  /** Connects a client, by default with a valid token. */
  connect(options?: ClientOptions): Promise<TestClient>;
  /** Resolves with the `connect_error` of a client that must be refused. */
  refusal(options?: ClientOptions): Promise<ConnectError>;
  metric(name: string): Promise<string>;
  resumeTokens: ResumeTokens;
  shutDown(): Promise<void>;
  /** @throws if a client received an event that violates the contract */
  close(): Promise<void>;
}

/** An orchestrator with one user that accepts every call; tests replace single calls. */
export const acceptingOrchestrator: OrchestratorClient = {
  authenticate: async () => ({ user_id: USER, expires_at: null, token_hash: null }),
  send: async () => ({ message_id: MESSAGE }),
  endedSessions: async () => ({ ended: [] }),
  ...createFakeLog().orchestrator,
  devicePositions: async () => undefined,
};

/** Without periodic position checks, which would depend on the test's duration. */
export const TEST_HUBS = { ...DEFAULT_SETTINGS.hubs, positionCheckMs: 3_600_000 };

export interface TestGatewayOptions extends Pick<GatewayDeps, 'admit' | 'credential' | 'settings' | 'timers'> {
  orchestrator?: Partial<OrchestratorClient>;
  bus?: EventBus;
  logger?: GatewayDeps['logger'];
}

/** Starts a gateway on a real port with a memory bus and a fake orchestrator. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { orchestrator = {}, bus = createMemoryBus(), logger = silentLogger, settings, ...rest } = options;
  const registry = new Registry();
  const log = createFakeLog();
  const httpServer = createServer((_request, response) => void response.writeHead(404).end());
  const gateway = createGateway({
    ...rest,
    httpServer,
    orchestrator: { ...acceptingOrchestrator, ...log.orchestrator, ...orchestrator },
    bus,
    logger,
    metrics: createGatewayMetrics(registry),
    resumeKeys: [RESUME_KEY],
    settings: { shutdownWindowMs: 0, hubs: TEST_HUBS, ...settings },
  });
  const http = await listen(httpServer, { host: '127.0.0.1', port: 0 });
  const clients: TestClient[] = [];
  const connect = async (client: ClientOptions = {}): Promise<TestClient> => {
    const connected = await connectClient(http.url, { auth: { 'x-token': 't' }, ...client });
    clients.push(connected);
    return connected;
  };
  return {
    url: http.url,
    bus,
    log,
    connect,
    refusal: (client) =>
      connect(client).then(
        () => {
          throw new Error('the client was accepted');
        },
        (error: ConnectError) => error,
      ),
    async publish(...envelopes) {
      log.add(...envelopes);
      for (const envelope of envelopes) await bus.publish(envelope);
    },
    resumeTokens: createResumeTokens([RESUME_KEY]),
    metric: (name) => registry.getSingleMetricAsString(name),
    shutDown: () => gateway.close(),
    async close() {
      // Clients first, because the server waits half a minute for a polling client.
      for (const { socket } of clients) socket.close();
      while ((await registry.getSingleMetricAsString('uswarm_gateway_sockets')).match(/ 0$/) === null)
        await setImmediate();
      await gateway.close();
      await http.close(0);
      await bus.close();
      for (const client of clients) client.close();
    },
  };
}
