import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@uswarm/service-kit';
import { LocalError, writePrivateFile } from '@uswarm/testkit';
import { z } from 'zod';
import { lockFolder } from './folder-lock.js';
import { type LocalSecrets, loadSecrets } from './local-secrets.js';

const DATA_FORMAT = 1;
const POSTGRES_MAJOR = 18;

const format = z.object({ format: z.int(), postgres_major: z.int() });

/** What other commands may have put into a folder before local mode first uses it. */
const FOREIGN_ENTRIES = new Set(['searxng', 'lock']);

/** What `<data>/local.json` tells other programs on this machine while local mode runs. */
export interface LocalInfo {
  url: string;
  issuer: string;
  /** `null` while the end-to-end bypass is off. */
  e2e_token: string | null;
  pid: number;
}

/** What `<data>/admin.json` tells `uswarmctl`: where the internal API is, and what opens it. */
export interface AdminInfo {
  url: string;
  key: string;
  pid: number;
}

export interface DataFolder {
  path: string;
  secrets: LocalSecrets;
  /** A path inside of the folder. */
  file(...names: string[]): string;
  writeLocalJson(info: LocalInfo): void;
  writeAdminJson(info: AdminInfo): void;
  /** Removes `local.json` and `admin.json`, and lets others use the folder. */
  close(): void;
}

export interface DataFolderOptions {
  directory: string;
  /** Where this instance will answer; shown to whoever starts a second one. */
  url: string;
}

const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

/** `USWARM_DATA_DIR` (relative to where the command was typed), else `.data` in the repository. */
export function dataDirectory(env: Record<string, string | undefined>): string {
  const chosen = env['USWARM_DATA_DIR'];
  return chosen === undefined || chosen === '' ? join(repositoryRoot, '.data') : resolve(chosen);
}

/**
 * Makes or opens the folder that holds everything local mode keeps, for this process alone.
 * @throws LocalError with one sentence: in use, of another version, or no folder of ours.
 */
export function openDataFolder({ directory, url }: DataFolderOptions): DataFolder {
  makeFolder(directory);
  const release = lockFolder(directory, url);
  try {
    checkFormat(directory);
    const secrets = loadSecrets(join(directory, 'secrets.json'));
    const file = (...names: string[]): string => join(directory, ...names);
    return {
      path: directory,
      secrets,
      file,
      writeLocalJson: (info) => writePrivateFile(file('local.json'), `${JSON.stringify(info)}\n`),
      writeAdminJson: (info) => writePrivateFile(file('admin.json'), `${JSON.stringify(info)}\n`),
      close: () => {
        for (const name of ['local.json', 'admin.json']) rmSync(file(name), { force: true });
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

function makeFolder(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new LocalError(`The data folder ${directory} cannot be made; set USWARM_DATA_DIR to another one.`, {
      cause: error,
    });
  }
}

function checkFormat(directory: string): void {
  const file = join(directory, 'format.json');
  if (!existsSync(file)) {
    if (readdirSync(directory).some((name) => !FOREIGN_ENTRIES.has(name))) {
      throw new LocalError(
        `${directory} holds other files and is no data folder of uswarm; set USWARM_DATA_DIR to an empty or new one.`,
      );
    }
    writePrivateFile(file, `${JSON.stringify({ format: DATA_FORMAT, postgres_major: POSTGRES_MAJOR })}\n`);
    return;
  }
  const sentence = formatProblem(readFileSync(file, 'utf8'));
  if (sentence !== undefined) {
    throw new LocalError(`The data folder ${directory} ${sentence}, or set USWARM_DATA_DIR to another one.`);
  }
}

/** What is wrong with a folder of that `format.json`, and the first thing to do about it. */
export function formatProblem(text: string): string | undefined {
  const parsed = format.safeParse(parseJson(text));
  if (!parsed.success) return 'has a format.json that cannot be read: move the folder away to begin afresh';
  const { format: version, postgres_major: major } = parsed.data;
  if (version > DATA_FORMAT) {
    return `was made by a newer version (format ${version}, this one knows ${DATA_FORMAT}): update this checkout`;
  }
  if (version < DATA_FORMAT) {
    return `was made by an older version (format ${version}, this one needs ${DATA_FORMAT}): move it away to begin afresh`;
  }
  if (major !== POSTGRES_MAJOR) {
    return (
      `holds a database of Postgres ${major} and this version runs Postgres ${POSTGRES_MAJOR}: ` +
      'go back to the version that made it'
    );
  }
  return undefined;
}
