import type { EventBus } from '@uswarm/event-bus';
import type { Logger, Registry } from '@uswarm/service-kit';
import type { Connections } from '../database/connections.js';
import { createConversationStore } from '../features/conversations/conversations.store.js';
import { createEventRenderer } from '../features/events/event-payloads.js';
import type { CreateViewContext } from '../features/messages/message-view.js';
import { createMessageStore } from '../features/messages/messages.store.js';
import { createWorkspaceStore } from '../features/workspaces/workspaces.store.js';
import { OUTBOX_TOPIC, type WakeUps } from '../jobs/wake-ups.js';
import { registerBusMetrics } from './bus-metrics.js';
import { createRelay } from './relay.js';
import { createRelayMetrics } from './relay-metrics.js';

export interface StartRelayDeps {
  background: Connections;
  createViewContext: CreateViewContext;
  bus: Pick<EventBus, 'publish' | 'healthy'>;
  wakeUps: WakeUps;
  metrics: Registry;
  logger: Logger;
}

/** Starts the relay, which publishes stored events. A commit of this process wakes it. */
export function startRelay({ background, createViewContext, bus, wakeUps, metrics, logger }: StartRelayDeps) {
  registerBusMetrics(metrics, bus);
  const { database, withTransaction, events } = background;
  const relay = createRelay({
    withTransaction,
    store: events,
    render: createEventRenderer({
      messages: createMessageStore(database),
      conversations: createConversationStore(database),
      workspaces: createWorkspaceStore(database),
      createViewContext,
    }),
    publish: bus.publish,
    metrics: createRelayMetrics(metrics),
    logger,
  });
  wakeUps.subscribe(OUTBOX_TOPIC, relay.wake);
  return relay;
}
