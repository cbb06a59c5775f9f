import type { Conversation } from '@uswarm/client';
import { useConversations, useWorkspaces } from '@uswarm/client/react';
import { useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient } from '../session/use-client.js';
import { useKeys } from '../shell/use-keys.js';
import { Button } from '../ui/button.js';
import { SearchField } from '../ui/field.js';
import { Icon } from '../ui/icon.js';
import { Badge, RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { RuntimeNote } from '../workspaces/runtime-note.js';
import styles from './conversations.module.css';
import { previewOf } from './preview.js';
import { fits } from './search.js';
import { useNewConversation } from './use-new-conversation.js';

export function ConversationList({ workspaceId }: { workspaceId: string }) {
  const client = useClient();
  const conversations = useConversations(client, workspaceId);
  const name = useWorkspaces(client).find(({ id }) => id === workspaceId)?.name ?? '';
  const { create, isBusy } = useNewConversation(workspaceId);
  const [words, setWords] = useState('');
  const search = useRef<HTMLInputElement>(null);
  useKeys({ 'Ctrl+k': () => search.current?.focus() });
  const found = conversations.filter((one) => fits(one, words));
  return (
    <>
      <div className={ui('stack', styles['head'])}>
        <div className={ui('row between')}>
          <h2 className={ui('clip grow')}>{name}</h2>
          <Button
            look="quiet"
            size="icon"
            aria-label="New conversation"
            disabled={isBusy}
            onClick={() => void create()}
          >
            <Icon name="plus" />
          </Button>
        </div>
        <SearchField label="Search conversations" ref={search} value={words} onSearch={setWords} />
        <small>
          <RuntimeNote workspaceId={workspaceId} />
        </small>
      </div>
      <nav className={styles['scroll']} aria-label="Conversations">
        <ul>
          {found.map((conversation) => (
            <ConversationItem key={conversation.id} workspaceId={workspaceId} conversation={conversation} />
          ))}
        </ul>
        {found.length === 0 && (
          <p className={ui('center lead')}>
            {words === '' ? 'What you ask is listed here.' : `Nothing contains “${words}”.`}
          </p>
        )}
      </nav>
    </>
  );
}

function ConversationItem({ workspaceId, conversation }: { workspaceId: string; conversation: Conversation }) {
  const [location] = useLocation();
  const { id, title, unread_count: unread, updated_at: at, muted } = conversation;
  const href = pages.conversation(workspaceId, id);
  return (
    <li>
      <Link
        href={href}
        className={ui('item', styles['item'])}
        data-unread={unread > 0 || undefined}
        aria-current={location === href ? 'page' : undefined}
      >
        <span className={ui('clip')}>
          {title}
          {muted && (
            <>
              {' '}
              <Icon name="muted" size={13} />
              <span className="hidden">, muted</span>
            </>
          )}
        </span>
        <small>
          <RelativeTime at={at} />
        </small>
        <small className={ui('clip')}>{previewOf(conversation)}</small>
        {unread > 0 && (
          <Badge tone="accent">
            {unread}
            <span className="hidden"> unread</span>
          </Badge>
        )}
      </Link>
    </li>
  );
}
