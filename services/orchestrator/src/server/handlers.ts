import type { Handlers } from '../platform/http/handlers.js';
import type { Modules } from './modules.js';

/** A missing handler does not compile. */
export const handlersOf = ({ legal, integrations, workspaces, chat, webhooks, users }: Modules): Handlers => ({
  ...users.core.routes,
  ...users.account.routes,
  ...users.apiTokens.routes,
  ...users.users.routes,
  ...legal.routes,
  ...users.devices.routes,
  ...users.push.routes,
  ...workspaces.usage.routes,
  ...chat.agents.routes,
  ...chat.artifacts.routes,
  ...chat.workflows.routes,
  ...chat.schedules.routes,
  ...chat.triggers.routes,
  ...chat.steps.routes,
  ...chat.receipts.routes,
  ...workspaces.workspaces.routes,
  ...chat.conversations.routes,
  ...chat.messages.routes,
  ...workspaces.uploads.routes,
  ...users.exports.routes,
  ...users.imports.routes,
  ...integrations.routes,
  ...integrations.toolServers.routes,
  ...webhooks.routes,
});
