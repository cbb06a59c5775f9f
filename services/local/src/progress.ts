/**
 * Prints a line about each step until the signal aborts: a SearXNG that becomes ready while everything stops would print
 * between the messages about the stop.
 */
export function createProgress(say: (line: string) => void, signal: AbortSignal): (line: string) => void {
  return (line) => {
    if (!signal.aborted) say(`  ${line}`);
  };
}
