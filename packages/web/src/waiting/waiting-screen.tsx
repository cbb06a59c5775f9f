import { useWorkspaces } from '@uswarm/client/react';
import { Link } from 'wouter';
import { Card } from '../conversation/card.js';
import { PlaceContext } from '../conversation/chat.js';
import { pages } from '../session/pages.js';
import type { OpenCard } from '../session/open-cards.js';
import { useClient, useOpenCards } from '../session/use-client.js';
import { EmptyState, RelativeTime } from '../ui/parts.js';
import styles from './waiting.module.css';

/** The decisions of all workspaces, oldest first. */
export function WaitingScreen() {
  const cards = useOpenCards();
  return (
    <div className={styles['screen']}>
      <h1>Waiting for me</h1>
      {cards.length === 0 ? (
        <EmptyState icon="bell" title="Nothing waits for you">
          <p>When an agent asks a question or needs your approval, it is listed here, whatever the workspace.</p>
        </EmptyState>
      ) : (
        <ul>
          {cards.map((card) => (
            <WaitingCard key={card.message.id} card={card} />
          ))}
        </ul>
      )}
    </div>
  );
}

function WaitingCard({ card: { workspace_id: workspaceId, message } }: { card: OpenCard }) {
  const name = useWorkspaces(useClient()).find(({ id }) => id === workspaceId)?.name ?? '';
  const { content, conversation_id: conversationId } = message;
  if (content.type !== 'action_card' || !('actions' in content)) return null;
  return (
    <li>
      <p>
        <Link href={pages.conversation(workspaceId, conversationId)}>{name}</Link> · {message.agent?.name ?? 'uswarm'} ·{' '}
        <RelativeTime at={message.created_at} />
      </p>
      <PlaceContext value={{ workspaceId, conversationId }}>
        <Card shown={{ id: message.id, message }} content={content} heading="h2" />
      </PlaceContext>
    </li>
  );
}
