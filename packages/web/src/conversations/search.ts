import type { Conversation } from '@uswarm/client';
import { previewOf } from './preview.js';

/** True if a conversation contains all words. */
export const fits = (conversation: Conversation, words: string): boolean =>
  words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => `${conversation.title} ${previewOf(conversation)}`.toLowerCase().includes(word));
