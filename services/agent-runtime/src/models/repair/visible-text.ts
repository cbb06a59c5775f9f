/** How the text for the user changes. */
export type VisiblePiece =
  | { type: 'text'; text: string }
  /** The step's text after this length was not for the user. `asThought`: it was a thought. */
  | { type: 'void'; length: number; asThought: boolean };

/** A step's text for the user, without white space around removed parts. */
export interface VisibleText {
  readonly length: number;
  /** End of the current line. */
  readonly line: string;
  /** True if no text has been shown yet. */
  readonly isStart: boolean;
  includes(text: string): boolean;
  show(text: string): void;
  /** Takes back what follows this length. */
  cut(length: number, asThought: boolean): void;
  /** Marks a private part, around which white space is dropped. */
  separate(): void;
  end(): void;
}

const MAX_LINE = 400;

export function createVisibleText(emit: (piece: VisiblePiece) => void): VisibleText {
  let shown = '';
  let line = '';
  /** White space that is shown if a text follows. */
  let lead = '';
  let isStart = true;
  /** True after a private part: white space is dropped if there is enough before it. */
  let skipsSpace = false;
  let separation = -1;

  function pass(text: string): void {
    shown += text;
    const end = text.lastIndexOf('\n');
    line = end < 0 ? line + text : text.slice(end + 1);
    // A long line's start is not needed, only that it is not the start.
    if (line.length > MAX_LINE) line = `x${line.slice(-MAX_LINE / 2)}`;
    emit({ type: 'text', text });
  }

  function show(text: string): void {
    if ((isStart || skipsSpace) && text.trimStart() === '') {
      if (!(isStart && skipsSpace)) lead += text;
      return;
    }
    let visible = lead + text;
    lead = '';
    const bare = visible.trimStart();
    if (skipsSpace) {
      const space = visible.slice(0, visible.length - bare.length);
      const isKept = shown !== '' && !shown.endsWith('\n') && (!/\s$/.test(shown) || space.includes('\n'));
      skipsSpace = false;
      if (!isKept) visible = bare;
    }
    if (visible === '') return;
    isStart = false;
    pass(visible);
  }

  function cut(length: number, asThought: boolean): void {
    if (length >= shown.length) return;
    shown = shown.slice(0, length);
    line = shown.slice(shown.lastIndexOf('\n') + 1);
    isStart = shown === '';
    emit({ type: 'void', length, asThought });
  }

  /** Marks a private part, around which white space is dropped. */
  function separate(): void {
    separation = shown.length;
    lead = '';
    skipsSpace = true;
  }

  return {
    get length() {
      return shown.length;
    },
    get line() {
      return lead + line;
    },
    get isStart() {
      return isStart;
    },
    includes: (text) => shown.includes(text),
    show,
    cut,
    separate,
    end() {
      if (lead !== '' && !skipsSpace) pass(lead);
      if (separation === shown.length) cut(shown.trimEnd().length, false);
    },
  };
}
