import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processIsAlive } from '@uswarm/file-lock/process-identity';
import { parseJson, parseSigningKey, type SigningKey, TokenError } from '@uswarm/service-kit';
import { z } from 'zod';
import { originOf } from '../command-line.js';
import { Failure } from '../failure.js';
import type { CtlArguments } from './ctl-arguments.js';

/** The internal API and the credentials for it. */
export interface Connection {
  url: string;
  key: SigningKey;
  operator: string;
}

const AdminFile = z.object({ url: z.url(), key: z.string(), pid: z.int().positive() });

const DEFAULT_DATA_DIR = fileURLToPath(new URL('../../../../.data', import.meta.url));
const NOT_RUNNING =
  'uswarm is not running here. Start it with npm start, or set --url and --key-file, or USWARM_ADMIN_URL and USWARM_ADMIN_KEY.';

/** Uses the options, else the environment, else the data folder of running local mode. @throws Failure */
export async function findConnection(
  args: Pick<CtlArguments, 'url' | 'keyFile' | 'dataDir' | 'as'>,
  env: Record<string, string | undefined>,
  userName: () => string = () => userInfo().username,
): Promise<Connection> {
  const operator = (args.as ?? nonEmpty(env['USWARM_OPERATOR']) ?? nameOf(userName)).trim();
  if (operator === '' || operator.length > 100) throw new Failure('--as must be 1 to 100 characters long.');
  const url = args.url ?? urlOf(nonEmpty(env['USWARM_ADMIN_URL']));
  const key = args.keyFile === undefined ? nonEmpty(env['USWARM_ADMIN_KEY']) : await readKey(args.keyFile);
  if (url !== undefined && key !== undefined) return { url, key: parseKey(key), operator };
  if (url !== undefined) throw new Failure('The key is missing: set --key-file or USWARM_ADMIN_KEY.');
  if (key !== undefined) throw new Failure('The URL is missing: set --url or USWARM_ADMIN_URL.');
  const local = await readAdminFile(resolve(args.dataDir ?? nonEmpty(env['USWARM_DATA_DIR']) ?? DEFAULT_DATA_DIR));
  return { url: local.url, key: parseKey(local.key), operator };
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Containers often run as a user without a name. */
function nameOf(userName: () => string): string {
  try {
    return userName();
  } catch (cause) {
    throw new Failure('The operator is unknown: set --as or USWARM_OPERATOR.', { cause });
  }
}

function urlOf(text: string | undefined): string | undefined {
  const origin = text === undefined ? undefined : originOf(text);
  if (text !== undefined && origin === undefined) throw new Failure('USWARM_ADMIN_URL must be an http or https URL.');
  return origin;
}

async function readKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read (${cause.code}).`, { cause });
  });
  return text.trim();
}

function parseKey(text: string): SigningKey {
  try {
    return parseSigningKey(text);
  } catch (cause) {
    if (cause instanceof TokenError) throw new Failure(`Invalid key: ${cause.message}.`, { cause });
    throw cause;
  }
}

async function readAdminFile(dataDir: string): Promise<z.output<typeof AdminFile>> {
  const file = join(dataDir, 'admin.json');
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const missing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR';
    throw new Failure(missing ? NOT_RUNNING : `${file} cannot be read (${cause.code}).`, {
      cause,
    });
  });
  const parsed = AdminFile.safeParse(parseJson(text));
  if (!parsed.success) throw new Failure(`${file} is invalid. Start uswarm again with: npm start`);
  if (!processIsAlive(parsed.data.pid)) throw new Failure(NOT_RUNNING);
  return parsed.data;
}
