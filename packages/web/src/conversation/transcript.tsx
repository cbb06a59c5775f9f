import type { ShownMessage } from '@uswarm/client';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { MessageRow } from './message-row.js';
import { rowsOf } from './rows.js';
import styles from './screen.module.css';

interface Props {
  messages: ShownMessage[];
  /** Loads the page before. @returns whether there are more */
  older: () => Promise<boolean>;
  lastReadId: string | null | undefined;
}
/** Pixels: closer to the end, the transcript follows new text; closer to the start, the page before is loaded. */
const [NEAR_END, NEAR_START] = [96, 600];

/** Not a live region: screen readers would read each word that is written. `StatusRegion` tells what matters. */
export function Transcript({ messages, older, lastReadId }: Props) {
  const rows = useMemo(() => rowsOf(messages, lastReadId), [messages, lastReadId]);
  const { scroller, content, handle, isAway, follow, onScroll } = useFollow(rows.length > 0);
  const { hasMore, loadIfNear } = useOlder(older);
  const first = rows[0]?.key;
  const before = usePrevious(first);
  const isPrepended = before !== undefined && before !== first;

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
          if (scroller.current && scroller.current.scrollTop < NEAR_START) loadIfNear();
        }}
        onKeyDown={(event) => moveByKey(event)}
      >
        <div ref={content} className={styles['column']}>
          {!hasMore && <p className={styles['start']}>The conversation begins here.</p>}
          <Virtualizer ref={handle} scrollRef={scroller} shift={isPrepended}>
            {rows.map((row) => (
              <MessageRow key={row.key} row={row} />
            ))}
          </Virtualizer>
        </div>
      </div>
      {isAway && (
        <div className={styles['below']} style={{ padding: 0 }}>
          <Button className={styles['down'] ?? ''} size="icon" aria-label="Go to the newest message" onClick={follow}>
            <Icon name="chevron" />
          </Button>
        </div>
      )}
    </>
  );
}

/** Follows the end while the user is there. */
function useFollow(hasRows: boolean) {
  const [scroller, content] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const handle = useRef<VirtualizerHandle>(null);
  const isFollowing = useRef(true);
  const [isAway, setAway] = useState(false);
  const follow = (): void => {
    isFollowing.current = true;
    setAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  useEffect(() => {
    if (!hasRows || !content.current) return undefined;
    // Heights change when rows are measured, text is written, and Markdown is loaded.
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
    });
    observer.observe(content.current);
    return () => observer.disconnect();
  }, [hasRows, content, scroller]);
  const last = useRef(0);
  const onScroll = (): void => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR_END;
    // Growing content does not scroll up; users do.
    if (isNear) isFollowing.current = true;
    else if (scrollTop < last.current - 1) isFollowing.current = false;
    last.current = scrollTop;
    setAway(!isNear && !isFollowing.current);
  };
  return { scroller, content, handle, isAway, follow, onScroll };
}

function useOlder(older: () => Promise<boolean>) {
  const [hasMore, setMore] = useState(true);
  const isLoading = useRef(false);
  const loadIfNear = (): void => {
    if (isLoading.current || !hasMore) return;
    isLoading.current = true;
    older()
      .then(setMore, () => undefined)
      .finally(() => (isLoading.current = false));
  };
  return { hasMore, loadIfNear };
}

function usePrevious<Value>(value: Value): Value | undefined {
  const previous = useRef<Value>(undefined);
  useLayoutEffect(() => void (previous.current = value));
  return previous.current;
}

/** `[` and `]`: previous and next message. */
function moveByKey(event: React.KeyboardEvent<HTMLDivElement>): void {
  if (event.key !== '[' && event.key !== ']') return;
  const articles = [...event.currentTarget.querySelectorAll('article')];
  const at = articles.findIndex((one) => one.contains(document.activeElement));
  const next = at === -1 ? articles.at(-1) : articles[at + (event.key === ']' ? 1 : -1)];
  if (next === undefined) return;
  next.tabIndex = -1;
  next.focus();
  event.preventDefault();
}
