import type { Output } from './output.js';

/** An output whose last line can be an interactive prompt. */
export interface PromptedOutput extends Output {
  /** Called with a function that writes the prompt again, while it is shown; otherwise without. */
  prompting: (refresh: (() => void) | undefined) => void;
}

/** Lines that are written while the prompt is shown appear above it. */
export function createPromptedOutput(out: Output): PromptedOutput {
  let refresh: (() => void) | undefined;
  return {
    write(text) {
      if (refresh === undefined) return void out.write(text);
      out.write(`\r\u001b[K${text}`);
      // The rest of a partial line follows it.
      if (text.endsWith('\n')) refresh();
    },
    prompting: (next) => void (refresh = next),
  };
}
