import { useEffect, useRef, useState } from 'react';
import type { VirtualizerHandle } from 'virtua';

/** Pixels to the end within which the transcript follows new text. */
const NEAR_END = 96;

/** Scrolls to the end as long as the user is there. */
export function useFollow(hasRows: boolean) {
  const [scroller, content] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const handle = useRef<VirtualizerHandle>(null);
  const isFollowing = useRef(true);
  const [isAway, setAway] = useState(false);
  const follow = (): void => {
    isFollowing.current = true;
    setAway(false);
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
  };
  const unfollow = (): void => void (isFollowing.current = false);
  useEffect(() => {
    if (!hasRows || !content.current) return undefined;
    // Heights change as rows are measured, text is written and Markdown loads.
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
  return { scroller, content, handle, isAway, follow, unfollow, onScroll };
}
