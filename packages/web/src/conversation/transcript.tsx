import type { ShownMessage } from '@uswarm/client';
import { useMemo } from 'react';
import { Virtualizer } from 'virtua';
import { useKeys } from '../shell/use-keys.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { useFollow } from './follow.js';
import { moveTo, useJump, useOlder, usePrepended } from './history.js';
import { MessageRow } from './message-row.js';
import { rowsOf } from './rows.js';
import message from './message.module.css';
import styles from './screen.module.css';

interface Props {
  messages: ShownMessage[];
  /** Loads the previous page. @returns true if there are more */
  older: () => Promise<boolean>;
  lastReadId: string | null | undefined;
  /** The message that a link leads to. */
  targetId: string | null;
}

/** Not a live region, because screen readers would read each word. `StatusRegion` reports what matters. */
export function Transcript({ messages, older, lastReadId, targetId }: Props) {
  const rows = useMemo(() => rowsOf(messages, lastReadId), [messages, lastReadId]);
  const { scroller, content, handle, isAway, follow, unfollow, onScroll } = useFollow(rows.length > 0);
  const isPrepended = usePrepended(rows);
  const history = useOlder(older, rows, scroller);
  useJump({ targetId, rows, history, scroller, handle, unfollow });
  useKeys({ '[': () => moveTo(scroller.current, -1), ']': () => moveTo(scroller.current, 1) });

  return (
    <>
      <div
        ref={scroller}
        className={styles['log']}
        role="log"
        aria-live="off"
        aria-label="Messages"
        tabIndex={0}
        onScroll={() => {
          onScroll();
          history.onScroll();
        }}
      >
        <div ref={content} className={styles['column']}>
          {history.isLoading && (
            <div className={styles['loading']}>
              <Spinner label="Loading older messages" />
            </div>
          )}
          {!history.hasMore && <p className={ui('facts', message['pause'])}>The conversation begins here.</p>}
          <Virtualizer ref={handle} scrollRef={scroller} shift={isPrepended}>
            {rows.map((row) => (
              <MessageRow key={row.key} row={row} isTarget={row.messages.some(({ id }) => id === targetId)} />
            ))}
          </Virtualizer>
        </div>
      </div>
      {isAway && (
        <div className={styles['below']} style={{ padding: 0 }}>
          <Button className={styles['down']} size="icon" aria-label="Go to the newest message" onClick={follow}>
            <Icon name="chevron" />
          </Button>
        </div>
      )}
    </>
  );
}
