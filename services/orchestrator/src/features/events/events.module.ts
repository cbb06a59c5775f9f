import type { Clock, Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Database, WithTransaction } from '../../database/database.js';
import type { JobDefinition } from '../../jobs/job-definition.js';
import { createConversationStore } from '../conversations/conversations.store.js';
import type { CreateViewContext } from '../messages/message-view.js';
import { createMessageStore } from '../messages/messages.store.js';
import { createWorkspaceStore } from '../workspaces/workspaces.store.js';
import { createEventRenderer } from './event-payloads.js';
import { createEventPruning, EVENT_PRUNING, EVENT_PRUNING_JOB } from './event-pruning.js';
import { createEventService } from './events.service.js';
import type { EventStore } from './events.store.js';
import { createGatewayStore } from './gateways.store.js';

export interface EventsModuleDeps {
  config: Pick<OrchestratorConfig, 'EVENTS_KEPT_DAYS'>;
  database: Database;
  withTransaction: WithTransaction;
  events: EventStore;
  createViewContext: CreateViewContext;
  clock: Clock;
  logger: Logger;
}

const DAY_MS = 24 * 3_600_000;

/** Replay and retention of workspace events. */
export function createEventsModule(deps: EventsModuleDeps) {
  const { config, database, withTransaction, events, createViewContext, clock, logger } = deps;
  const workspaces = createWorkspaceStore(database);
  const render = createEventRenderer({
    messages: createMessageStore(database),
    conversations: createConversationStore(database),
    workspaces,
    createViewContext,
  });
  const pruning: JobDefinition = {
    type: EVENT_PRUNING_JOB,
    handle: createEventPruning({
      store: events,
      gateways: createGatewayStore(database),
      keepMs: config.EVENTS_KEPT_DAYS * DAY_MS,
      clock,
      logger,
    }),
    atStart: EVENT_PRUNING,
  };
  return { service: createEventService({ withTransaction, store: events, workspaces, render }), jobs: [pruning] };
}
