import type { MessageData } from '@uswarm/contract';
import type { TestClient } from '@uswarm/testkit/test-client';

const who = ({ role, agent }: MessageData): string => (role === 'user' ? 'Ada' : (agent?.name ?? 'uswarm'));

function cardLines({ content, error }: MessageData): string[] {
  if (content.type !== 'action_card') return [];
  const { title, description, actions, selected_action_id: selected } = content;
  const choice = actions.find(({ id }) => id === selected)?.label ?? (error === null ? 'no choice yet' : 'withdrawn');
  return [`┌ ${title}`, ...description.split('\n').map((line) => `│ ${line}`), `└ ${choice}`];
}

function linesOf(message: MessageData): string[] {
  const { content, role } = message;
  switch (content.type) {
    case 'action_card':
      return cardLines(message);
    case 'tool_status':
      return [`  [${content.tool}: ${content.state}] ${content.description}`];
    case 'text':
      // A choice is shown on its card.
      return role === 'user' && ['Approve', 'Deny'].includes(content.text)
        ? []
        : [`${who(message)}: ${content.text.trim()}`];
    default:
      return [];
  }
}

/** A conversation as users see it, oldest message first. */
export async function transcriptOf(client: TestClient): Promise<string> {
  const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages?limit=50`;
  const { data } = (await client.api('GET', path)).body as { data: MessageData[] };
  const inOrder = data.toSorted((one, other) => (one.position < other.position ? -1 : 1));
  return inOrder.flatMap(linesOf).join('\n');
}
