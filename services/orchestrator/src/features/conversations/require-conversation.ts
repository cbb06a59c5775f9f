import { ApiError } from '@uswarm/contract';
import type { ConversationStore } from './conversations.store.js';

/** @throws ApiError `workspace_not_found`, `conversation_not_found` */
export async function requireConversation(
  store: Pick<ConversationStore, 'findAccess'>,
  { userId, workspaceId, conversationId }: { userId: string; workspaceId: string; conversationId: string },
): Promise<void> {
  const found = await store.findAccess(userId, workspaceId, conversationId);
  if (!found.workspace) throw new ApiError('workspace_not_found');
  if (!found.conversation) throw new ApiError('conversation_not_found');
}
