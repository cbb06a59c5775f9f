import type { Output } from './output.js';
import { fit } from './terminal-text.js';

/** Terminal lines that are replaced while something runs. */
export interface LiveRegion {
  /** Replaces the lines. */
  set(lines: readonly string[]): void;
  /** Removes the lines from the terminal, so that other output can follow; `show` writes them again. */
  hide(): void;
  show(): void;
}

/** Each line is cut at the terminal width, so that it has one row. At most a screenful is shown: the last lines. */
export function createLiveRegion(out: Output, size: () => { columns: number; rows: number }): LiveRegion {
  let lines: readonly string[] = [];
  let rows = 0;

  function hide(): void {
    // Moves to the first line and clears the screen below.
    if (rows > 0) out.write(`\u001b[${rows}F\u001b[J`);
    rows = 0;
  }

  function show(): void {
    hide();
    const { columns, rows: height } = size();
    const shown = lines.slice(-Math.max(1, height - 1));
    for (const line of shown) out.write(`${fit(line, columns - 1)}\n`);
    rows = shown.length;
  }

  return {
    set(next) {
      lines = next;
      show();
    },
    hide,
    show,
  };
}
