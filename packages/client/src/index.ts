export { UswarmError, type Api, type CallOptions, type Uploadable } from './api.js';
export { createClient, type Client, type ClientOptions } from './client.js';
export type { Connection } from './connection.js';
export type { NewMessage, OutboxItem } from './outbox.js';
export type { Change, Signal, Store } from './store.js';
export type {
  AgentSummary,
  Attachment,
  ClientEvents,
  components,
  Conversation,
  MessageContent,
  MessageData,
  Routes,
  ServerEvents,
  Workspace,
} from './gen/types.js';
export type { ShownMessage } from './workspace.js';
