import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { VirtualizerHandle } from 'virtua';
import { notify, notifyError } from '../ui/notify.js';
import type { Row } from './rows.js';

/** Pixels to the start within which the previous page is loaded. */
const NEAR_START = 600;
/** Within these frames the list shows the row that it scrolls to, and measures its neighbours. */
const FRAMES = 120;

type Scroller = RefObject<HTMLElement | null>;
type History = ReturnType<typeof useOlder>;

/**
 * Loads older messages near the start, and while the loaded ones do not fill the screen.
 * @param loadPage resolves to true if there are more
 */
export function useOlder(loadPage: () => Promise<boolean>, rows: readonly Row[], scroller: Scroller) {
  const [{ hasMore, isLoading }, set] = useState({ hasMore: true, isLoading: false });
  const [isBusy, length] = [useRef(false), useRef(0)];
  async function load(): Promise<void> {
    if (isBusy.current || !hasMore) return;
    isBusy.current = true;
    set({ hasMore, isLoading: true });
    let more: boolean = hasMore;
    try {
      more = await loadPage();
    } catch (error) {
      notifyError('Older messages could not be loaded')(error);
    }
    isBusy.current = false;
    set({ hasMore: more, isLoading: false });
  }
  const older = (): void => void load();
  const onScroll = (): void => {
    if (scroller.current && scroller.current.scrollTop < NEAR_START) older();
  };
  useEffect(() => {
    const { scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
    if (rows.length > 0 && scrollHeight <= clientHeight) older();
    // After lost events, only the newest page is loaded again.
    if (rows.length < length.current) set({ hasMore: true, isLoading: false });
    length.current = rows.length;
  }, [rows]);
  return { hasMore, isLoading, older, onScroll };
}

interface Jump {
  targetId: string | null;
  rows: readonly Row[];
  history: History;
  scroller: Scroller;
  handle: RefObject<VirtualizerHandle | null>;
  unfollow: () => void;
}
/** Shows the message from a link, and loads older ones until it appears. */
export function useJump({ targetId, rows, history, scroller, handle, unfollow }: Jump): void {
  const [shown, asked] = [useRef<string | null>(null), useRef<readonly Row[]>(undefined)];
  const { hasMore, isLoading, older } = history;
  useEffect(() => {
    if (targetId === null || targetId === shown.current || isLoading || rows.length === 0) return;
    unfollow();
    const index = rows.findIndex(({ messages }) => messages.some(({ id }) => id === targetId));
    if (index === -1 && hasMore) {
      // Each page changes the rows. None comes while the workspace reloads.
      if (asked.current !== rows) older();
      asked.current = rows;
      return;
    }
    shown.current = targetId;
    if (index === -1) return notify({ title: 'Message not found', description: 'It was deleted.' });
    handle.current?.scrollToIndex(index, { align: 'center' });
    focusTarget(scroller, FRAMES);
  }, [targetId, rows, isLoading, hasMore]);
}

/** Retries, because the list may remove the row and show it again while it measures others. */
function focusTarget(scroller: Scroller, frames: number, isFirst = true): void {
  const target = scroller.current?.querySelector<HTMLElement>('[data-target]');
  if (target && (isFirst || document.activeElement === document.body)) focus(target, { preventScroll: true });
  if (frames > 0) requestAnimationFrame(() => focusTarget(scroller, frames - 1, isFirst && !target));
}
function focus(article: HTMLElement, options?: FocusOptions): void {
  article.tabIndex = -1;
  article.focus(options);
}

export function moveTo(log: HTMLElement | null, step: 1 | -1): void {
  const articles = [...(log?.querySelectorAll('article') ?? [])];
  const at = articles.findIndex((one) => one.contains(document.activeElement));
  const next = at === -1 ? articles.at(-1) : articles[at + step];
  if (next !== undefined) focus(next);
}

export function usePrepended(rows: readonly Row[]): boolean {
  const first = rows[0]?.key;
  const before = useRef(first);
  useLayoutEffect(() => void (before.current = first));
  return before.current !== undefined && before.current !== first;
}
