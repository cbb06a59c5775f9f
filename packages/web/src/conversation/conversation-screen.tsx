import { useConversation } from '@uswarm/client/react';
import { useSearchParams } from 'wouter';
import { MuteButton } from '../conversations/mute-button.js';
import { useListed } from '../conversations/use-listed.js';
import { panel } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { useKeys } from '../shell/use-keys.js';
import { ButtonLink } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import type { IconName } from '../ui/icons.js';
import { EmptyState, Spinner } from '../ui/parts.js';
import { RuntimeNote } from '../workspaces/runtime-note.js';
import { ui } from '../ui/ui.js';
import { PlaceContext } from './chat.js';
import { Composer } from './composer.js';
import { useOpenedAt, useRead, useTitle } from './reading.js';
import { activityOf } from './rows.js';
import styles from './screen.module.css';
import { StatusRegion } from './status-region.js';
import { Transcript } from './transcript.js';

export function ConversationScreen({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const client = useClient();
  const { messages, older, read } = useConversation(client, workspaceId, conversationId);
  const { conversation, isGone } = useListed(client, workspaceId, conversationId);
  const lastReadId = useOpenedAt(conversation);
  const activity = activityOf(messages);
  useRead(read, conversation?.unread_count ?? 0, messages.at(-1)?.id);
  useKeys({ a: () => document.querySelector<HTMLElement>('[data-card][data-open] button')?.focus() });
  const [query] = useSearchParams();
  const title = conversation?.title ?? 'Conversation';
  useTitle(title);

  return (
    <PlaceContext value={{ workspaceId, conversationId }}>
      <section className={styles['screen']} aria-labelledby="conversation-title">
        <div className={ui('row', styles['bar'])}>
          <h1 id="conversation-title" className={ui('clip grow')}>
            {title}
          </h1>
          {conversation && <MuteButton workspaceId={workspaceId} conversation={conversation} />}
          <PanelLink href={panel.search} icon="search" label="Search" />
          <PanelLink href={panel.swarm} icon="swarm" label="Swarm" />
        </div>
        {isGone ? (
          <EmptyState icon="chat" title="There is no such conversation">
            <p>It was deleted, perhaps on another device.</p>
          </EmptyState>
        ) : (
          <Transcript messages={messages} older={older} lastReadId={lastReadId} targetId={query.get('message')} />
        )}
        <div className={styles['below']}>
          {conversation?.agent?.deleted ? (
            <p role="status" className={ui('notice')}>
              {conversation.agent.name} was deleted. You can read this conversation, but not continue it.
            </p>
          ) : (
            <>
              <div className={ui('facts', styles['activity'])}>
                {activity.isWorking ? (
                  <>
                    <Spinner label="" />
                    {activity.text}
                  </>
                ) : (
                  <RuntimeNote workspaceId={workspaceId} />
                )}
              </div>
              <Composer isWorking={activity.isWorking} />
            </>
          )}
        </div>
        <StatusRegion {...activity} />
      </section>
    </PlaceContext>
  );
}

function PanelLink({ href, icon, label }: { href: string; icon: IconName; label: string }) {
  return (
    <ButtonLink href={href} look="quiet" size="small" aria-label={label}>
      <Icon name={icon} size={16} />
      <span className={styles['label']}>{label}</span>
    </ButtonLink>
  );
}
