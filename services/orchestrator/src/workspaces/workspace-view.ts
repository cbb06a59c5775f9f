import type { MessageContent, Workspace } from '@uswarm/contract';
import { shownContent } from '../chat/message-view.js';
import { viewRuntime } from '../records/runtime-view.js';
import type { WorkspaceRow } from './workspaces.store.js';

const PREVIEW_LENGTH = 200;
/** The sender shown for system messages. */
const PLATFORM_NAME = 'uswarm';

/** Renders any content type as one line of text. */
export function previewText(content: MessageContent): string {
  switch (content.type) {
    case 'text':
    case 'system':
      return shortened(content.text.replaceAll(/\s+/g, ' ').trim());
    case 'action_card':
    case 'artifact':
      return content.title;
    case 'tool_status':
      return content.description;
    case 'delegation':
      return content.task_preview;
    case 'workflow':
      return content.workflow_name;
    case 'loading':
      return '';
  }
}

/** Does not cut within a surrogate pair. */
function shortened(text: string): string {
  return text.slice(0, PREVIEW_LENGTH).replace(/[\uD800-\uDBFF]$/, '');
}

function senderName({ last_role: role, last_agent: agent, owner_name: owner }: WorkspaceRow): string {
  return role === 'user' ? owner : (agent ?? PLATFORM_NAME);
}

const lastContent = (row: WorkspaceRow, content: MessageContent): MessageContent =>
  shownContent({
    content,
    role: row.last_role ?? 'system',
    status: row.last_status ?? 'delivered',
    error_code: row.last_error_code,
    agent_name: row.last_agent,
  });

// RES-031 to RES-036
export function workspaceView(row: WorkspaceRow, now: Date): Workspace {
  const view = viewRuntime({ phase: row.phase ?? 'Pending', silentSince: row.silent_since }, now);
  const preview =
    row.last_content === null || row.last_created_at === null
      ? null
      : {
          text: previewText(lastContent(row, row.last_content)),
          sender_name: senderName(row),
          timestamp: row.last_created_at.toISOString(),
        };
  return {
    id: row.id,
    name: row.name,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    rev: row.rev,
    unread_count: row.unread_count,
    agents_rev: row.agents_rev,
    runtime: {
      ...view,
      verified: row.verified ?? false,
      total_agents: row.total_agents,
      last_message_preview: preview,
    },
  };
}
