import { createLiveRegion } from './live-region.js';
import type { Output } from './output.js';
import { type Paint, printable, type Style } from './terminal-text.js';

/** Writes lines, streamed text and, on a terminal, lines at the end that are replaced. */
export interface Screen {
  /** Prints a line. Streamed text before it continues in the next line. */
  line(text: string, style?: Style): void;
  /** Prints partial text. */
  stream(text: string): void;
  /** Ends a streamed line. */
  endLine(): void;
  /** Replaces the lines at the end. */
  region(lines: readonly string[]): void;
}

export function createScreen(out: Output, paint: Paint, size: () => { columns: number; rows: number }): Screen {
  const live = createLiveRegion(out, size);
  let inLine = false;

  return {
    line(text, style = 'dim') {
      live.hide();
      out.write(`${inLine ? '\n' : ''}${paint(style, printable(text))}\n`);
      inLine = false;
      live.show();
    },
    stream(text) {
      live.hide();
      out.write(text);
      inLine = true;
    },
    endLine() {
      if (inLine) out.write('\n');
      inLine = false;
      live.show();
    },
    region: (lines) => live.set(lines),
  };
}
