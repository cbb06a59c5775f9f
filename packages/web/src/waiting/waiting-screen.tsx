import { useWorkspaces } from '@uswarm/client/react';
import { Link } from 'wouter';
import { Card } from '../conversation/card.js';
import { PlaceContext } from '../conversation/chat.js';
import { Screen } from '../screen/screen.js';
import { pages } from '../session/pages.js';
import type { OpenCard } from '../session/open-cards.js';
import { useClient, useOpenCards } from '../session/use-client.js';
import { Facts } from '../ui/item.js';
import { EmptyState, RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';

/** From all workspaces, oldest first. */
export function WaitingScreen() {
  const cards = useOpenCards();
  return (
    <Screen title="Waiting for me" lead="What agents ask you, of all workspaces, oldest first.">
      {cards.length === 0 ? (
        <EmptyState icon="bell" title="Nothing waits for you">
          <p>When an agent asks a question or needs your approval, it is listed here, whatever the workspace.</p>
        </EmptyState>
      ) : (
        <ul className={ui('stack loose')}>
          {cards.map((card) => (
            <WaitingCard key={card.message.id} card={card} />
          ))}
        </ul>
      )}
    </Screen>
  );
}

function WaitingCard({ card: { workspace_id: workspaceId, message } }: { card: OpenCard }) {
  const name = useWorkspaces(useClient()).find(({ id }) => id === workspaceId)?.name ?? '';
  const { content, conversation_id: conversationId } = message;
  if (content.type !== 'action_card' || !('actions' in content)) return null;
  return (
    <li>
      <Facts>
        <Link href={pages.conversation(workspaceId, conversationId)}>{name}</Link>
        <span>{message.agent?.name ?? 'uswarm'}</span>
        <RelativeTime at={message.created_at} />
      </Facts>
      <PlaceContext value={{ workspaceId, conversationId }}>
        <Card shown={{ id: message.id, message }} content={content} heading="h2" />
      </PlaceContext>
    </li>
  );
}
