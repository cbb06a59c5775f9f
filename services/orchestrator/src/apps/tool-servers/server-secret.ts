import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Reads a file each time, so that operators can replace a secret. @param directory `TOOL_SERVER_SECRETS` */
export const readServerSecret = async (directory: string | undefined, name: string): Promise<string> =>
  (await readFile(join(directory ?? '', name), 'utf8')).trim();
