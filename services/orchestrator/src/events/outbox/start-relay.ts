import type { EventBus } from '@uswarm/event-bus';
import type { Logger, Registry } from '@uswarm/service-kit';
import type { Connections } from '../../records/connections.js';
import type { Epochs } from '../epoch.js';
import type { EventPublisher } from '../event-publisher.js';
import { createEventRenderer } from '../event-payloads.js';
import type { CreateViewContext } from '../../chat/message-view.js';
import type { LeaseKeeper } from '../../platform/jobs/lease-keeper.js';
import { registerBusMetrics } from './bus-metrics.js';
import type { CommittedEvents } from './committed-events.js';
import { createPublishEvents } from './publish-events.js';
import { type Relay, startRelay } from './relay.js';
import { createRelayMetrics } from './relay-metrics.js';
import * as outboxRecords from './outbox.store.js';

export interface OrchestratorRelayDeps {
  background: Pick<Connections, 'database'>;
  createViewContext: CreateViewContext;
  bus: Pick<EventBus, 'healthy'>;
  publisher: Pick<EventPublisher, 'logged'>;
  epochs: Pick<Epochs, 'current'>;
  committed: CommittedEvents;
  leases: LeaseKeeper;
  metrics: Registry;
  logger: Logger;
}

export function startOrchestratorRelay(deps: OrchestratorRelayDeps): Relay {
  const { background, createViewContext, bus, publisher, epochs, committed, leases, logger } = deps;
  registerBusMetrics(deps.metrics, bus);
  const { database } = background;
  const metrics = createRelayMetrics(deps.metrics);
  const publish = createPublishEvents({
    database,
    render: createEventRenderer({
      createViewContext,
    }),
    publish: publisher.logged,
    epoch: epochs.current,
    metrics,
  });
  return startRelay({ database, store: outboxRecords, publish, committed, leases, metrics, logger });
}
