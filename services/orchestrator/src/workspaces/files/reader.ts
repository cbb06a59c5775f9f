import { createFileReader, type FileReader } from '@uswarm/file-reader';
import type { Logger } from '@uswarm/service-kit';

/** Relative to this module, also in a bundle. */
const PROGRAM = new URL('../../file-reader-main.js', import.meta.url);

/** A longer text would keep this process busy while it is searched. */
const READ_CHARACTERS = 4 * 1024 * 1024;

/** Close it when no turn runs. */
export const createReader = (logger: Pick<Logger, 'warn'>): FileReader =>
  createFileReader({
    program: PROGRAM,
    limits: { characters: READ_CHARACTERS },
    onCrash: ({ task, exit }) => logger.warn({ task, exit }, 'the process that reads a file crashed'),
  });
