import type { EventBus } from '@uswarm/event-bus';
import { readGauge, type Registry } from '@uswarm/service-kit';

const HELP = '1 while both connections to Redis are established; 0 means degraded, not unready.';

export function registerBusMetrics(registry: Registry, bus: Pick<EventBus, 'healthy'>): void {
  readGauge(registry, 'uswarm_event_bus_up', HELP, () => (bus.healthy() ? 1 : 0));
}
