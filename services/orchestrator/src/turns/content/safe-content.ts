import type { MessageContent } from '@uswarm/contract';
import type { SafeMarkdown } from './reply-text.js';

const DISPLAYED = new Set([
  'title',
  'description',
  'label',
  'content_preview',
  'workflow_name',
  'name',
  'task_preview',
]);

export function safeContent<Content extends MessageContent>(
  content: Content,
  markdown: Pick<SafeMarkdown, 'text'>,
): Content {
  const safe = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(safe);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [
        key,
        DISPLAYED.has(key) && typeof field === 'string' ? markdown.text(field) : safe(field),
      ]),
    );
  };
  return safe(content) as Content;
}
