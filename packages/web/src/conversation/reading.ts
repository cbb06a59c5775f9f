import type { Conversation } from '@uswarm/client';
import { useEffect, useRef } from 'react';

/** @returns the read position when the conversation was opened; undefined if everything was read */
export function useOpenedAt(conversation: Conversation | undefined): string | null | undefined {
  const opened = useRef<{ at: string | null | undefined }>(undefined);
  if (conversation !== undefined)
    opened.current ??= { at: conversation.unread_count > 0 ? conversation.last_read_message_id : undefined };
  return opened.current?.at;
}

/**
 * Marks messages as read while the page is visible.
 * @param newest the last loaded message: without one, nothing can be marked
 */
export function useRead(read: () => Promise<void>, unread: number, newest: string | null | undefined): void {
  const latest = useRef(read);
  useEffect(() => void (latest.current = read));
  useEffect(() => {
    const markRead = (): void => {
      if (unread > 0 && document.visibilityState === 'visible') void latest.current().catch(() => undefined);
    };
    markRead();
    document.addEventListener('visibilitychange', markRead);
    return () => document.removeEventListener('visibilitychange', markRead);
  }, [unread, newest]);
}

/** Names the browser tab after the conversation. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · uswarm`;
    return () => void (document.title = 'uswarm');
  }, [title]);
}
