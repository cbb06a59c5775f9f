import type { MessageContent } from '@uswarm/contract';
import { storable } from '@uswarm/service-kit';
import { visibleText } from '../../records/visible-text.js';
import { scan, START } from './safe-markdown.js';

const NOTHING = { ...START, output: '' };
/** Look-behind in characters: the longest host and what surrounds it. */
const LOOK_BEHIND = 300;

/** Safe Markdown without characters that hide or reorder text. */
export interface ReplyText {
  readonly text: string;
  readonly shown: string;
  /** Unconverted. */
  readonly received: string;
  /** @returns what can be shown now. The end is held back while it can become part of an image or a link. */
  append(text: string): string;
  /** Shows what was held back. No text may follow. */
  flush(): string;
  /**
   * Removes the text after a position in the received text.
   *
   * @returns the position in the shown text; undefined if nothing is removed
   */
  retract(offset: number): number | undefined;
  clear(): void;
}

export interface SafeMarkdown {
  text(markdown: string): string;
  stream(): ReplyText;
}

const cleaned = (text: string): string => visibleText(storable(text));

/** @param publicUrl images and links below it are our own, and so are images and links without a host */
export function createSafeMarkdown(publicUrl: string | undefined): SafeMarkdown {
  const own = publicUrl === undefined ? undefined : `${publicUrl.replace(/\/+$/, '')}/v1/`;
  const isOwn = (address: string): boolean => own !== undefined && address.startsWith(own);

  function stream(): ReplyText {
    let received = '';
    /** Unconverted text, preceded by some converted characters as context. */
    let source = '';
    let scanned = NOTHING;

    function continueScan(isLast: boolean): string {
      const { output, end, ...state } = scan(source, scanned, isLast, isOwn);
      const done = Math.max(0, end - LOOK_BEHIND);
      source = source.slice(done);
      scanned = { ...state, end: end - done, output: scanned.output + output };
      return output;
    }

    return {
      get text() {
        return scanned.output + scan(source, scanned, true, isOwn).output;
      },
      get shown() {
        return scanned.output;
      },
      get received() {
        return received;
      },
      append(text) {
        received += text;
        source += cleaned(text);
        return continueScan(false);
      },
      flush: () => continueScan(true),
      retract(offset) {
        if (offset >= received.length) return undefined;
        received = received.slice(0, offset);
        source = cleaned(received);
        scanned = NOTHING;
        return continueScan(false).length;
      },
      clear() {
        received = '';
        source = '';
        scanned = NOTHING;
      },
    };
  }

  return { text: (markdown) => scan(cleaned(markdown), START, true, isOwn).output, stream };
}

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
