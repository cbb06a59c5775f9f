import type { Database } from './database/database.js';
import { createAgentStore } from './features/agents/agents.store.js';
import { createConversationStore } from './features/conversations/conversations.store.js';
import { createEventStore } from './features/events/events.store.js';
import { createMessageStore } from './features/messages/messages.store.js';
import { createRuntimeProcessStore } from './features/runtimes/runtime-processes.store.js';
import { createRuntimeStore } from './features/runtimes/runtimes.store.js';
import { createTurnStore } from './features/turns/turns.store.js';
import { createUserStore } from './features/users/users.store.js';
import { createWorkspaceStore } from './features/workspaces/workspaces.store.js';
import { createWorkStore } from './work/work.store.js';

/** Everything that is written to Postgres, by feature. */
export function createStores(database: Database) {
  return {
    agents: createAgentStore(database),
    conversations: createConversationStore(database),
    events: createEventStore(),
    messages: createMessageStore(database),
    runtimeProcesses: createRuntimeProcessStore(database),
    runtimes: createRuntimeStore(database),
    turns: createTurnStore(database),
    users: createUserStore(database),
    work: createWorkStore(database),
    workspaces: createWorkspaceStore(database),
  };
}

export type Stores = ReturnType<typeof createStores>;
