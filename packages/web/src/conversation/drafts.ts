import { useState } from 'react';

const keyOf = (conversationId: string): string => `uswarm.draft.${conversationId}`;

/** Unsent text survives a reload and the end of a session. */
export function useDraft(conversationId: string): [text: string, write: (text: string) => void] {
  const [text, setText] = useState(() => localStorage.getItem(keyOf(conversationId)) ?? '');
  const write = (next: string): void => {
    setText(next);
    if (next === '') localStorage.removeItem(keyOf(conversationId));
    else localStorage.setItem(keyOf(conversationId), next);
  };
  return [text, write];
}
