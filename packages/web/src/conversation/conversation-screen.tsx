import type { Conversation } from '@uswarm/client';
import { useConversation, useConversations } from '@uswarm/client/react';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { MuteButton } from '../conversations/mute-button.js';
import { panel } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { Icon } from '../ui/icon.js';
import { EmptyState, Spinner } from '../ui/parts.js';
import button from '../ui/ui.module.css';
import { RuntimeNote } from '../workspaces/runtime-note.js';
import { PlaceContext } from './chat.js';
import { Composer } from './composer.js';
import { activityOf } from './rows.js';
import styles from './screen.module.css';
import { StatusRegion } from './status-region.js';
import { Transcript } from './transcript.js';

export function ConversationScreen({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const client = useClient();
  const { messages, older, read } = useConversation(client, workspaceId, conversationId);
  const conversations = useConversations(client, workspaceId);
  const conversation = conversations.find(({ id }) => id === conversationId);
  const lastReadId = useOpenedAt(conversation);
  const activity = activityOf(messages);
  useRead(read, conversation?.unread_count ?? 0);
  useCardKey();
  const title = conversation?.title ?? 'Conversation';
  useEffect(() => {
    document.title = `${title} · uswarm`;
    return () => void (document.title = 'uswarm');
  }, [title]);

  return (
    <PlaceContext value={{ workspaceId, conversationId }}>
      <section className={styles['screen']} aria-labelledby="conversation-title">
        <div className={styles['bar']}>
          <h1 id="conversation-title">{title}</h1>
          {conversation && <MuteButton workspaceId={workspaceId} conversation={conversation} />}
          <Link href={panel.swarm} className={`${button['button']} ${button['quiet']} ${button['small']}`}>
            <Icon name="swarm" size={16} />
            Swarm
          </Link>
        </div>
        {conversation === undefined && conversations.length > 0 ? (
          <EmptyState icon="chat" title="There is no such conversation">
            <p>It was deleted, perhaps on another device.</p>
          </EmptyState>
        ) : (
          <Transcript messages={messages} older={older} lastReadId={lastReadId} />
        )}
        <div className={styles['below']}>
          <div className={styles['activity']}>
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
        </div>
        <StatusRegion {...activity} />
      </section>
    </PlaceContext>
  );
}

/** The read position when the conversation was opened; undefined if everything was read. */
function useOpenedAt(conversation: Conversation | undefined): string | null | undefined {
  const opened = useRef<{ at: string | null | undefined }>(undefined);
  if (conversation !== undefined)
    opened.current ??= { at: conversation.unread_count > 0 ? conversation.last_read_message_id : undefined };
  return opened.current?.at;
}

/** Marks messages as read while the page is visible. */
function useRead(read: () => Promise<void>, unread: number): void {
  const latest = useRef(read);
  useEffect(() => void (latest.current = read));
  useEffect(() => {
    const markRead = (): void => {
      if (unread > 0 && document.visibilityState === 'visible') void latest.current().catch(() => undefined);
    };
    markRead();
    document.addEventListener('visibilitychange', markRead);
    return () => document.removeEventListener('visibilitychange', markRead);
  }, [unread]);
}

/** `A`: to the card that waits. */
function useCardKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'a' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLElement && event.target.matches('input, textarea, select')) return;
      document.querySelector<HTMLElement>('[data-card][data-open] button')?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
