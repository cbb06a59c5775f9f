import type { ShownMessage } from '@uswarm/client';
import { type CSSProperties, memo, type ReactNode } from 'react';
import { Avatar } from '../screen/avatar.js';
import { RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { ArtifactCard } from './artifact-card.js';
import { Card } from './card.js';
import { DelegationLine } from './delegation-line.js';
import styles from './message.module.css';
import { OwnMessage } from './own-message.js';
import { Reply } from './reply.js';
import type { Row } from './rows.js';
import { Plain } from './text.js';
import { ToolLines } from './tool-lines.js';
import { WorkflowList } from './workflow-list.js';

/** A transcript item and its separator from the item before. `isTarget`: a link leads to it. */
export const MessageRow = memo(function MessageRow({ row, isTarget }: { row: Row; isTarget: boolean }) {
  const [first] = row.messages;
  if (first === undefined) return null;
  return (
    <>
      {row.pausedUntil !== undefined && (
        <p className={ui('facts', styles['pause'])}>
          {new Date(row.pausedUntil).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
        </p>
      )}
      {row.isFirstUnread && <p className={ui('facts', styles['unread'])}>New</p>}
      {first.role === 'user' ? (
        <OwnMessage shown={first} isTarget={isTarget} />
      ) : (
        <article
          className={styles['reply']}
          style={{ '--depth': Math.min(row.depth, 3) } as CSSProperties}
          data-first={row.isFirst || undefined}
          data-target={isTarget || undefined}
        >
          <Author shown={first} isShown={row.isFirst} />
          <Content row={row} first={first} />
        </article>
      )}
    </>
  );
});

function Author({ shown: { role, message }, isShown }: { shown: ShownMessage; isShown: boolean }) {
  const name = role === 'system' ? 'uswarm' : (message?.agent?.name ?? 'Agent');
  if (!isShown) return <h2 className="hidden">{name}</h2>;
  return (
    <header className={ui('row', styles['author'])}>
      <Avatar url={message?.agent?.avatar} name={name} />
      <h2>{name}</h2>
      {message && (
        <small>
          <RelativeTime at={message.created_at} />
        </small>
      )}
    </header>
  );
}

function Content({ row, first }: { row: Row; first: ShownMessage }): ReactNode {
  const { content } = first;
  if (row.isTools) return <ToolLines messages={row.messages} isPinned={row.isPinned} />;
  switch (content.type) {
    case 'text':
    case 'loading':
      return <Reply shown={first} />;
    case 'action_card':
      return <Card shown={first} content={content} />;
    case 'delegation':
      return <DelegationLine shown={first} content={content} />;
    case 'workflow':
      return <WorkflowList content={content} />;
    case 'artifact':
      return <ArtifactCard content={content} />;
    case 'system':
      return <p className={ui('lead')}>{content.text}</p>;
    default:
      return (
        <>
          <Plain text={first.text} />
          <p className={ui('lead')}>A newer version of the page shows more of this message ({content.type}).</p>
        </>
      );
  }
}
