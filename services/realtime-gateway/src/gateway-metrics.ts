import { ApiError, DURABLE_EVENTS, EPHEMERAL_EVENTS, INTERNAL_PATHS, SESSION_ENDINGS } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import { initializedCounter, boundedLabel, readGauge, type Registry } from '@uswarm/service-kit';
import { type Counter, Gauge, Histogram } from 'prom-client';
import { REFUSALS } from './features/connection/admission.js';

/** `refused`: by a rule that the client can know; `failed`: by a server error. */
export type CallOutcome = 'ok' | 'refused' | 'failed';

/** What the gateway asks the orchestrator. */
export type OrchestratorCall = keyof typeof INTERNAL_PATHS;

export interface GatewayMetrics {
  sockets: Gauge;
  /** Workspaces that sockets watch; one that two sockets watch counts twice. */
  subscriptions: Gauge;
  handshakes: Counter<'outcome'>;
  /** Handshakes that wait for their turn to ask the orchestrator. */
  handshakesWaiting: Gauge;
  disconnects: Counter<'reason'>;
  eventsDelivered: Counter<'event'>;
  eventsDropped: Counter<'kind'>;
  gaps: Counter;
  invalidEnvelopes: Counter;
  /** Events of clients that were not handled because they came too fast, or too many of their socket waited. */
  throttled: Counter<'reason'>;
  /** Connections that were refused before anything was kept for them. */
  connectionsRefused: Counter<'reason'>;
  /** Sessions that this gateway ended. */
  sessionsEnded: Counter<'code'>;
  /** From the event to its answer, by outcome. */
  sendSeconds: Histogram<'outcome'>;
  orchestratorSeconds: Histogram<'call' | 'outcome'>;
}

/** Whose fault an error is. */
export function outcomeOf(error: unknown): Exclude<CallOutcome, 'ok'> {
  return error instanceof ApiError && error.status < 500 ? 'refused' : 'failed';
}

/** `rate_limited` and `failed` clients come again by themselves; `left` did not wait for the answer. */
export const HANDSHAKE_OUTCOMES = ['ok', 'refused', 'failed', 'rate_limited', 'left'] as const;
export type HandshakeOutcome = (typeof HANDSHAKE_OUTCOMES)[number];

/** socket.io's own words; a client cannot invent others. */
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
    help: 'Time from message.send to its answer, by outcome.',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers,
  });
  const orchestratorSeconds = new Histogram({
    name: 'uswarm_gateway_orchestrator_seconds',
    help: 'Time that the orchestrator took to answer, by what it was asked and by outcome.',
    labelNames: ['call', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  for (const outcome of OUTCOMES) {
    sendSeconds.zero({ outcome });
    for (const call of Object.keys(INTERNAL_PATHS)) orchestratorSeconds.zero({ call, outcome });
  }
  return {
    sockets: new Gauge({ name: 'uswarm_gateway_sockets', help: 'Authenticated sockets.', registers }),
    subscriptions: new Gauge({
      name: 'uswarm_gateway_subscriptions',
      help: 'Workspaces that sockets watch, each as often as it is watched.',
      registers,
    }),
    handshakesWaiting: new Gauge({
      name: 'uswarm_gateway_handshakes_waiting',
      help: 'Handshakes that wait for their turn to ask the orchestrator.',
      registers,
    }),
    ...counters(registry),
    sendSeconds,
    orchestratorSeconds,
  };
}

function counters(registry: Registry) {
  return {
    handshakes: initializedCounter(registry, 'uswarm_gateway_handshakes_total', 'Sockets that asked to be let in.', {
      outcome: HANDSHAKE_OUTCOMES,
    }),
    disconnects: initializedCounter(
      registry,
      'uswarm_gateway_disconnects_total',
      'Sockets that ended, by the reason.',
      {
        reason: [...DISCONNECTS, 'other'],
      },
    ),
    eventsDelivered: initializedCounter(
      registry,
      'uswarm_gateway_events_delivered_total',
      'Workspace events written to sockets, by event.',
      { event: [...DURABLE_EVENTS, ...EPHEMERAL_EVENTS] },
    ),
    eventsDropped: initializedCounter(
      registry,
      'uswarm_gateway_events_dropped_total',
      'Workspace events that a socket did not get because too many waited for it.',
      { kind: ['durable', 'ephemeral'] },
    ),
    gaps: initializedCounter(
      registry,
      'uswarm_gateway_gaps_total',
      'Gaps in the order of a workspace that were given up.',
      {},
    ),
    invalidEnvelopes: initializedCounter(
      registry,
      'uswarm_gateway_invalid_envelopes_total',
      'Envelopes from the bus that were dropped because they are not ours.',
      {},
    ),
    throttled: initializedCounter(
      registry,
      'uswarm_gateway_throttled_total',
      'Events of clients that were refused, because they came too fast or too many of their socket waited.',
      { reason: ['rate', 'queue'] },
    ),
    connectionsRefused: initializedCounter(
      registry,
      'uswarm_gateway_connections_refused_total',
      'Connections that were refused before the handshake, by the reason.',
      { reason: Object.keys(REFUSALS) },
    ),
    sessionsEnded: initializedCounter(
      registry,
      'uswarm_gateway_sessions_ended_total',
      'Sockets that the gateway closed, by what it told the client.',
      { code: Object.keys(SESSION_ENDINGS) },
    ),
  };
}

/** Separate: in local mode the orchestrator reports it for the bus that both share. */
export function registerBus(registry: Registry, bus: Pick<EventBus, 'healthy'>): void {
  const help = '1 while both connections to Redis are established; 0 means degraded, not unready.';
  readGauge(registry, 'uswarm_event_bus_up', help, () => (bus.healthy() ? 1 : 0));
}

const REASONS: ReadonlySet<string> = new Set(DISCONNECTS);
/** The label of a reason that socket.io gave. */
export const disconnectReason = (reason: string): string => boundedLabel(REASONS, reason);
