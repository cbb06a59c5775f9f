import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@uswarm/service-kit';
import { LocalError, writePrivateFile } from '@uswarm/dev-servers';
import { z } from 'zod';
import { lockFolder } from './folder-lock.js';
import { type LocalSecrets, loadSecrets } from './local-secrets.js';

const DATA_FORMAT = 1;
const POSTGRES_MAJOR = 18;

const format = z.object({ format: z.int(), postgres_major: z.int() });

/** Entries that other commands may have created in the folder before. */
const FOREIGN_ENTRIES = new Set(['searxng', 'lock']);
/** Drafts of these files, which another start has at this moment, or which a killed one left. */
const DRAFT = /^(lock|format\.json)\.[0-9a-f-]{36}$/;

/** `<data>/local.json`, for other programs on this machine while local mode runs. */
export interface LocalInfo {
  url: string;
  issuer: string;
  /** `null` if the end-to-end bypass is disabled. */
  e2e_token: string | null;
  pid: number;
}

/** `<data>/admin.json`, for `uswarmctl`: URL and key of the internal API. */
export interface AdminInfo {
  url: string;
  key: string;
  pid: number;
}

export interface DataFolder {
  path: string;
  secrets: LocalSecrets;
  /** A path inside the folder. */
  file(...names: string[]): string;
  writeLocalJson(info: LocalInfo): void;
  writeAdminJson(info: AdminInfo): void;
  /** Removes `local.json` and `admin.json`, and releases the folder. */
  close(): void;
}

export interface DataFolderOptions {
  directory: string;
  /** This instance's URL, for the error in a second one. */
  url: string;
}

const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

/** `USWARM_DATA_DIR` (relative to the working directory), else `.data` in the repository. */
export function dataDirectory(env: Record<string, string | undefined>): string {
  const chosen = env['USWARM_DATA_DIR'];
  return chosen === undefined || chosen === '' ? join(repositoryRoot, '.data') : resolve(chosen);
}

/**
 * Creates or opens the data folder and locks it for this process.
 * @throws LocalError if it is in use, has another version, or is not a data folder
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
        try {
          for (const name of ['local.json', 'admin.json']) rmSync(file(name), { force: true });
        } finally {
          release();
        }
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
    throw new LocalError(`The data folder ${directory} cannot be created; set USWARM_DATA_DIR to another one.`, {
      cause: error,
    });
  }
}

function checkFormat(directory: string): void {
  const file = join(directory, 'format.json');
  if (!existsSync(file)) {
    if (readdirSync(directory).some((name) => !FOREIGN_ENTRIES.has(name) && !DRAFT.test(name))) {
      throw new LocalError(
        `${directory} contains other files and is not a data folder of uswarm; set USWARM_DATA_DIR to an empty or new one.`,
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

/** The problem with this `format.json` and its solution; undefined if there is none. */
export function formatProblem(text: string): string | undefined {
  const parsed = format.safeParse(parseJson(text));
  if (!parsed.success) return 'has a format.json that cannot be read: move the folder away to start from scratch';
  const { format: version, postgres_major: major } = parsed.data;
  if (version > DATA_FORMAT) {
    return `was created by a newer version (format ${version}, this one supports ${DATA_FORMAT}): update this checkout`;
  }
  if (version < DATA_FORMAT) {
    return `was created by an older version (format ${version}, this one requires ${DATA_FORMAT}): move it away to start from scratch`;
  }
  if (major !== POSTGRES_MAJOR) {
    return (
      `contains a database of Postgres ${major} and this version runs Postgres ${POSTGRES_MAJOR}: ` +
      'use the version that created it'
    );
  }
  return undefined;
}
