import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import type { JobDefinition } from '../platform/jobs/job-definition.js';
import type { CreateViewContext } from '../chat/message-view.js';
import { createReadAgentStates } from './agent-states.store.js';
import type { Epochs } from './epoch.js';
import { createEventPages } from './event-pages.js';
import { createEventRenderer } from './event-payloads.js';
import { createEventPruning, EVENT_PRUNING, EVENT_PRUNING_JOB } from './event-pruning.js';
import { createEventService } from './events.service.js';
import { createReadPosition } from './position-header.js';
import { readStreams } from '../turns/reply/turn-streams.js';
import type { TurnSignals } from '../turns/turn-signals.js';
import { createSubscriptionService } from './subscriptions.service.js';
import * as gatewayRecords from './gateways.store.js';
import { readHeads } from './positions.store.js';

export interface EventsModuleDeps {
  config: Pick<OrchestratorConfig, 'EVENTS_KEPT_DAYS'>;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'events'>;
  epochs: Epochs;
  turnSignals: Pick<TurnSignals, 'send'>;
  createViewContext: CreateViewContext;
  clock: Clock;
  logger: Logger;
}

const DAY_MS = 24 * 3_600_000;

export function createEventsModule(deps: EventsModuleDeps) {
  const { config, epochs, createViewContext, clock, logger } = deps;
  const { database, withTransaction, events } = deps.connections;
  const render = createEventRenderer({
    createViewContext,
  });
  const pruning: JobDefinition = {
    type: EVENT_PRUNING_JOB,
    handle: createEventPruning({
      store: events,
      database,
      gateways: gatewayRecords,
      keepMs: config.EVENTS_KEPT_DAYS * DAY_MS,
      clock,
      logger,
    }),
    atStart: EVENT_PRUNING,
  };
  return {
    service: createEventService({ withTransaction, store: events, database, epochs, render }),
    subscriptions: createSubscriptionService({
      readHeads: (workspaceIds) => readHeads(database, epochs, workspaceIds),
      agentStates: createReadAgentStates(database),
      streams: readStreams,
      turnSignals: deps.turnSignals,
      database,
      clock,
    }),
    readPage: createEventPages({ withTransaction, store: events, epochs, render }),
    readPosition: createReadPosition(database, epochs),
    jobs: [pruning],
  };
}
