import { ApiError } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import { findConversationAccess } from './conversations.store.js';

/** A conversation as a request names it. */
export interface RequestedConversation {
  userId: string;
  workspaceId: string;
  conversationId: string;
}

/** @throws ApiError `workspace_not_found`, `conversation_not_found` */
export async function requireConversation(
  db: Database,
  { userId, workspaceId, conversationId }: RequestedConversation,
): Promise<void> {
  const found = await findConversationAccess(db, userId, workspaceId, conversationId);
  if (!found.workspace) throw new ApiError('workspace_not_found');
  if (!found.conversation) throw new ApiError('conversation_not_found');
}
