import { ApiError, INTERNAL_PATHS, SESSION_ENDINGS } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import { initializedCounter, boundedLabel, readGauge, type Registry } from '@uswarm/service-kit';
import { type Counter, Gauge, Histogram } from 'prom-client';
import { DELIVERED_EVENTS, EVIDENCES, REFUSALS, RESYNC_REASONS } from './labels.js';

/** `refused`: rejected by a documented rule; `failed`: server error. */
export type CallOutcome = 'ok' | 'refused' | 'failed';

/** The gateway's internal API calls. */
export type OrchestratorCall = keyof typeof INTERNAL_PATHS;

/** This process' hubs. */
interface ObservedHubs {
  size(): number;
  historyBytes(): number;
}

export interface GatewayMetrics {
  sockets: Gauge;
  /** Workspace subscriptions on all sockets. */
  subscriptions: Gauge;
  handshakes: Counter<'outcome'>;
  /** Handshakes that are queued for an authentication request. */
  handshakesWaiting: Gauge;
  disconnects: Counter<'reason'>;
  eventsDelivered: Counter<'event'>;
  /** Log reads, because the bus had not delivered an event. */
  fills: Counter<'evidence'>;
  /** Subscriptions that ended with `workspace.resync`. */
  resyncs: Counter<'reason'>;
  /** Reports the number of hubs and the event bytes that they keep. */
  observeHubs(hubs: ObservedHubs): void;
  invalidEnvelopes: Counter;
  /** Client events that were refused because the rate was exceeded or the queue was full. */
  throttled: Counter<'reason'>;
  /** Connections that were refused before the handshake. */
  connectionsRefused: Counter<'reason'>;
  /** Open requests and WebSockets that belong to other gateways' sessions. */
  forwarding: Gauge;
  forwardFailures: Counter;
  /** Sessions that the gateway ended. */
  sessionsEnded: Counter<'code'>;
  /** From the event to its response, by outcome. */
  sendSeconds: Histogram<'outcome'>;
  orchestratorSeconds: Histogram<'call' | 'outcome'>;
}

/** The outcome for an error: `refused` for errors that the client caused, otherwise `failed`. */
export function outcomeOf(error: unknown): Exclude<CallOutcome, 'ok'> {
  return error instanceof ApiError && error.status < 500 ? 'refused' : 'failed';
}

/**
 * `resumed`: admitted by a resume token. `rate_limited` and `failed` clients reconnect; `left` clients disconnected during the
 * handshake.
 */
export const HANDSHAKE_OUTCOMES = ['ok', 'resumed', 'refused', 'failed', 'rate_limited', 'left'] as const;
export type HandshakeOutcome = (typeof HANDSHAKE_OUTCOMES)[number];

/** The disconnect reasons of socket.io. */
const DISCONNECTS = [
  'client namespace disconnect',
  'forced close',
  'forced server close',
  'parse error',
  'ping timeout',
  'server namespace disconnect',
  'server shutting down',
  'transport close',
  'transport error',
];
const OUTCOMES = ['ok', 'refused', 'failed'] as const satisfies CallOutcome[];
const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  const sendSeconds = new Histogram({
    name: 'uswarm_gateway_send_seconds',
    help: 'Duration of message.send in seconds by outcome.',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  });
  const orchestratorSeconds = new Histogram({
    name: 'uswarm_gateway_orchestrator_seconds',
    help: 'Duration of orchestrator calls in seconds by call and outcome.',
    labelNames: ['call', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  for (const outcome of OUTCOMES) {
    sendSeconds.zero({ outcome });
    for (const call of Object.keys(INTERNAL_PATHS)) orchestratorSeconds.zero({ call, outcome });
  }
  return {
    sockets: new Gauge({ name: 'uswarm_gateway_sockets', help: 'Number of authenticated sockets.', registers }),
    subscriptions: new Gauge({
      name: 'uswarm_gateway_subscriptions',
      help: 'Number of workspace subscriptions of all sockets.',
      registers,
    }),
    handshakesWaiting: new Gauge({
      name: 'uswarm_gateway_handshakes_waiting',
      help: 'Number of handshakes that are queued for an authentication request.',
      registers,
    }),
    forwarding: new Gauge({
      name: 'uswarm_gateway_forwarding',
      help: 'Number of open requests and WebSockets of sessions that another gateway has.',
      registers,
    }),
    ...counters(registry),
    observeHubs: observeHubs(registry),
    sendSeconds,
    orchestratorSeconds,
  };
}

function counters(registry: Registry) {
  return {
    handshakes: initializedCounter(registry, 'uswarm_gateway_handshakes_total', 'Total handshakes by outcome.', {
      outcome: HANDSHAKE_OUTCOMES,
    }),
    disconnects: initializedCounter(registry, 'uswarm_gateway_disconnects_total', 'Total disconnects by reason.', {
      reason: [...DISCONNECTS, 'other'],
    }),
    eventsDelivered: initializedCounter(
      registry,
      'uswarm_gateway_events_delivered_total',
      'Total workspace events delivered to sockets by event.',
      { event: [...DELIVERED_EVENTS, 'other'] },
    ),
    fills: initializedCounter(
      registry,
      'uswarm_gateway_fills_total',
      'Total reads of the event log that replaced events the bus did not deliver, by evidence.',
      { evidence: EVIDENCES },
    ),
    resyncs: initializedCounter(
      registry,
      'uswarm_gateway_resyncs_total',
      'Total subscriptions that ended with workspace.resync by reason.',
      { reason: RESYNC_REASONS },
    ),
    invalidEnvelopes: initializedCounter(
      registry,
      'uswarm_gateway_invalid_envelopes_total',
      'Total malformed envelopes from the event bus that were dropped.',
      {},
    ),
    throttled: initializedCounter(
      registry,
      'uswarm_gateway_throttled_total',
      'Total client events that were refused because the rate was exceeded or the queue was full.',
      { reason: ['rate', 'queue'] },
    ),
    connectionsRefused: initializedCounter(
      registry,
      'uswarm_gateway_connections_refused_total',
      'Total connections refused before the handshake by reason.',
      { reason: Object.keys(REFUSALS) },
    ),
    forwardFailures: initializedCounter(
      registry,
      'uswarm_gateway_forward_failures_total',
      'Total requests and WebSockets that could not be forwarded to the gateway with their session.',
      {},
    ),
    sessionsEnded: initializedCounter(
      registry,
      'uswarm_gateway_sessions_ended_total',
      'Total sessions that the gateway ended by code.',
      { code: Object.keys(SESSION_ENDINGS) },
    ),
  };
}

function observeHubs(registry: Registry): GatewayMetrics['observeHubs'] {
  let hubs: ObservedHubs | undefined;
  readGauge(registry, 'uswarm_gateway_hubs', 'Number of workspaces with subscribed sockets.', () => hubs?.size() ?? 0);
  readGauge(
    registry,
    'uswarm_gateway_history_bytes',
    'Bytes of recent events that are kept for slow and resuming sockets.',
    () => hubs?.historyBytes() ?? 0,
  );
  return (observed) => {
    hubs = observed;
  };
}

/** Separate, because in local mode the orchestrator reports it for the shared bus. */
export function registerBus(registry: Registry, bus: Pick<EventBus, 'healthy'>): void {
  const help = '1 while both connections to Redis are established; 0 means degraded, not unready.';
  readGauge(registry, 'uswarm_event_bus_up', help, () => (bus.healthy() ? 1 : 0));
}

const REASONS: ReadonlySet<string> = new Set(DISCONNECTS);
/** The metric label for a disconnect reason of socket.io. */
export const disconnectReason = (reason: string): string => boundedLabel(REASONS, reason);
