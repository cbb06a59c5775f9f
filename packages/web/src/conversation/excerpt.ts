import type { MessageContent } from '@uswarm/client';
import { visibleText } from './visible-text.js';

/** Characters before the first found word, and in total. */
const [BEFORE, LENGTH] = [40, 160];

/** @returns the part of a message around the first found word */
export function excerptOf(content: MessageContent, words: string): string {
  const { text, title, description } = content as { text?: string; title?: string; description?: string };
  const whole = visibleText(text ?? [title, description].filter(Boolean).join(': ')).replaceAll(/[#*_`>|]+|\s+/g, ' ');
  const places = words
    .toLowerCase()
    .split(/\s+/)
    .map((word) => whole.toLowerCase().indexOf(word));
  const start = Math.max(0, Math.min(...places.filter((at) => at >= 0), whole.length) - BEFORE);
  const part = whole.slice(start, start + LENGTH).trim();
  return `${start > 0 ? '…' : ''}${part}${start + LENGTH < whole.length ? '…' : ''}`;
}

/** @returns a document's beginning in one line, without Markdown marks, and without the title, which is shown above */
export function beginningOf(markdown: string, title: string): string {
  const text = visibleText(markdown)
    .replaceAll(/[#*_`>|]|---+/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return (text.startsWith(title) ? text.slice(title.length).trim() : text).slice(0, 110);
}
