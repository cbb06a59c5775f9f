import type { Database } from './database/database.js';
import { createDeletedAccountStore } from './features/account/deleted-accounts.store.js';
import { createAgentHistoryStore } from './features/agents/agent-history.store.js';
import { createAgentSettingsStore } from './features/agents/agent-settings.store.js';
import { createMemoryStore } from './features/agents/memories.store.js';
import { createAgentStore } from './features/agents/agents.store.js';
import { createAdminStore } from './features/admin/admin.store.js';
import { createRequeueStore } from './features/admin/requeue.store.js';
import { createAuditStore } from './features/admin/audit.store.js';
import { createSessionStore } from './features/auth/sessions.store.js';
import { createConversationStore } from './features/conversations/conversations.store.js';
import { createReadPositionStore } from './features/conversations/read-position.store.js';
import { createDeviceStore } from './features/devices/devices.store.js';
import { createEventStore } from './features/events/events.store.js';
import { createIdempotencyStore } from './features/idempotency/idempotency.store.js';
import { createExportDataStore } from './features/exports/export-data.store.js';
import { createExportStore } from './features/exports/exports.store.js';
import { createLegalStore } from './features/legal/legal.store.js';
import { createIntegrationStore } from './features/integrations/integrations.store.js';
import { createMessageChangeStore } from './features/messages/message-changes.store.js';
import { createMessageStore } from './features/messages/messages.store.js';
import { createMessageSearchStore } from './features/messages/search.store.js';
import { createRuntimeProcessStore } from './features/runtimes/drivers/process/runtime-processes.store.js';
import { createRuntimeStore } from './features/runtimes/runtimes.store.js';
import { createTurnStore } from './features/turns/turns.store.js';
import { createUploadStore } from './features/uploads/uploads.store.js';
import { createUsageStore } from './features/usage/usage.store.js';
import { createUserStore } from './features/users/users.store.js';
import { createWorkspaceStore } from './features/workspaces/workspaces.store.js';
import { TURN_JOB } from './features/turns/turn-queue.js';
import { createWakeUps, OUTBOX_TOPIC, type WakeUps } from './jobs/wake-ups.js';
import { createJobStore } from './jobs/job-store.js';

/**
 * Everything that is written to Postgres, by feature.
 * @param wakeUps those of the workers and the relay of this process
 */
export function createStores(database: Database, wakeUps: WakeUps = createWakeUps()) {
  return {
    changes: createMessageChangeStore(),
    admin: createAdminStore(database),
    agentHistory: createAgentHistoryStore(database),
    agents: createAgentStore(database),
    agentSettings: createAgentSettingsStore(database),
    audit: createAuditStore(database),
    conversations: createConversationStore(database),
    deletedAccounts: createDeletedAccountStore(database),
    devices: createDeviceStore(database),
    events: createEventStore(database, wakeUps.notifier(OUTBOX_TOPIC)),
    idempotency: createIdempotencyStore(database),
    exportData: createExportDataStore(database),
    exports: createExportStore(database),
    legal: createLegalStore(database),
    integrations: createIntegrationStore(database),
    memories: createMemoryStore(database),
    messages: createMessageStore(database),
    messageSearch: createMessageSearchStore(database),
    readPositions: createReadPositionStore(database),
    requeue: createRequeueStore(wakeUps.notifier(TURN_JOB)),
    runtimeProcesses: createRuntimeProcessStore(database),
    runtimes: createRuntimeStore(database),
    sessions: createSessionStore(database),
    turns: createTurnStore(database),
    uploads: createUploadStore(database),
    usage: createUsageStore(database),
    users: createUserStore(database),
    jobs: createJobStore(database, wakeUps),
    workspaces: createWorkspaceStore(database),
  };
}

export type Stores = ReturnType<typeof createStores>;
