import type { RunningLocal } from './running-local.js';

/** Suggested first question: its answer needs agents, tools and sources. */
export const FIRST_QUESTION = 'Search the web for green tea and answer with sources';

/** A command that the terminal and the page show, for a shell in the folder of this checkout. */
export function chatCommand(
  message: string,
  { dataDirectory, environment }: Pick<RunningLocal, 'dataDirectory' | 'environment'>,
): string {
  // The chat finds local mode by its data folder.
  const elsewhere = (environment['USWARM_DATA_DIR'] ?? '') === '' ? '' : `USWARM_DATA_DIR=${quoted(dataDirectory)} `;
  return `${elsewhere}npm run chat -- "${message}"`;
}

/** A shell word. */
const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
