import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface GatewayMetrics {
  sockets: Gauge;
  eventsDelivered: Counter<'event'>;
  gaps: Counter;
  invalidEnvelopes: Counter;
  /** From the event to its answer, by outcome. */
  sendSeconds: Histogram<'outcome'>;
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry];
  return {
    sockets: new Gauge({ name: 'uswarm_gateway_sockets', help: 'Authenticated sockets.', registers }),
    eventsDelivered: new Counter({
      name: 'uswarm_gateway_events_delivered_total',
      help: 'Workspace events written to sockets, by event.',
      labelNames: ['event'],
      registers,
    }),
    gaps: new Counter({
      name: 'uswarm_gateway_gaps_total',
      help: 'Gaps in the order of a workspace that were given up.',
      registers,
    }),
    invalidEnvelopes: new Counter({
      name: 'uswarm_gateway_invalid_envelopes_total',
      help: 'Envelopes from the bus that were dropped because they are not ours.',
      registers,
    }),
    sendSeconds: new Histogram({
      name: 'uswarm_gateway_send_seconds',
      help: 'Time from message.send to its answer, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
  };
}
