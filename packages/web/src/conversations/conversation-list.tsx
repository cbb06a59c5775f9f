import { useConversations } from '@uswarm/client/react';
import { Link } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';

export function ConversationList({ workspaceId }: { workspaceId: string }) {
  const conversations = useConversations(useClient(), workspaceId);
  return (
    <ul>
      {conversations.map(({ id, title }) => (
        <li key={id}>
          <Link href={pages.conversation(workspaceId, id)}>{title}</Link>
        </li>
      ))}
    </ul>
  );
}
