const OPEN = '<think>';
const CLOSE = '</think>';

/** The longest end of `text` with which `tag` could begin. */
function partialTag(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length -= 1) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}

/** What a piece adds to the text and to the thoughts. */
interface SplitText {
  text: string;
  thought: string;
}

export interface ThinkSplitter {
  add(piece: string): SplitText;
  /** @returns what was held because a tag could follow */
  end(): SplitText;
}

/**
 * Separates `<think>` at the beginning of a streamed text, where reasoning models without a reasoning field put their
 * thoughts, also if a tag is split over several parts. A tag later in the text is text.
 */
export function createThinkSplitter(): ThinkSplitter {
  let state: 'start' | 'thinking' | 'after' | 'text' = 'start';
  let held = '';

  /** Drops the space between thoughts and text. */
  function afterThoughts(): SplitText {
    const text = held.trimStart();
    held = '';
    if (text !== '') state = 'text';
    return { text, thought: '' };
  }

  function thinking(): SplitText {
    const end = held.indexOf(CLOSE);
    if (end >= 0) {
      const thought = held.slice(0, end);
      held = held.slice(end + CLOSE.length);
      state = 'after';
      return { ...afterThoughts(), thought };
    }
    const keep = partialTag(held, CLOSE);
    const thought = held.slice(0, held.length - keep);
    held = held.slice(held.length - keep);
    return { text: '', thought };
  }

  function add(piece: string): SplitText {
    if (state === 'text') return { text: piece, thought: '' };
    held += piece;
    if (state === 'thinking') return thinking();
    if (state === 'after') return afterThoughts();
    const start = held.trimStart();
    if (start.startsWith(OPEN)) {
      state = 'thinking';
      held = start.slice(OPEN.length);
      return thinking();
    }
    if (start === '' || OPEN.startsWith(start)) return { text: '', thought: '' };
    state = 'text';
    const text = held;
    held = '';
    return { text, thought: '' };
  }

  return {
    add,
    end() {
      const rest = held;
      held = '';
      return state === 'thinking' ? { text: '', thought: rest } : { text: rest, thought: '' };
    },
  };
}
