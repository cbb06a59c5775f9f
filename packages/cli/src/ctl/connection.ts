import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processIsAlive } from '@uswarm/file-lock/process-identity';
import { isCanonicalToken, parseJson, parseSigningKey, type SigningKey, TokenError } from '@uswarm/service-kit';
import { z } from 'zod';
import { originOf } from '../command-line.js';
import { Failure } from '../failure.js';
import type { CtlArguments } from './ctl-arguments.js';
import { runTokenCommand } from './token-command.js';

/** The internal API, and the credential for it: a key, or a person's token from an OpenID Connect issuer. */
export type Connection = { url: string } & ({ key: SigningKey; operator: string } | { token: string });

const AdminFile = z.object({ url: z.url(), key: z.string(), pid: z.int().positive() });

const DEFAULT_DATA_DIR = fileURLToPath(new URL('../../../../.data', import.meta.url));
const NOT_RUNNING =
  'uswarm is not running here. Start it with npm start, or set --url and --key-file, or USWARM_ADMIN_URL and USWARM_ADMIN_KEY.';

type ConnectionArguments = Pick<CtlArguments, 'url' | 'keyFile' | 'tokenCommand' | 'dataDir' | 'as'>;
type Environment = Record<string, string | undefined>;

/** Uses the options, else the environment, else the data folder of running local mode. @throws Failure */
export async function findConnection(
  args: ConnectionArguments,
  env: Environment,
  userName: () => string = () => userInfo().username,
): Promise<Connection> {
  const url = args.url ?? urlOf(nonEmpty(env['USWARM_ADMIN_URL']));
  const token = await findToken(args, env);
  if (token !== undefined) {
    if (args.as !== undefined) throw new Failure('--as needs a key: a token names its operator itself.');
    if (url === undefined) throw new Failure('The URL is missing: set --url or USWARM_ADMIN_URL.');
    return { url, token };
  }
  const operator = (args.as ?? nonEmpty(env['USWARM_OPERATOR']) ?? nameOf(userName)).trim();
  if (operator === '' || operator.length > 100) throw new Failure('--as must be 1 to 100 characters long.');
  const key = args.keyFile === undefined ? nonEmpty(env['USWARM_ADMIN_KEY']) : await readKey(args.keyFile);
  if (url !== undefined && key !== undefined) return { url, key: parseKey(key), operator };
  if (url !== undefined) {
    throw new Failure(
      'The key is missing: set --key-file or USWARM_ADMIN_KEY. For a token, set --token-command or USWARM_TOKEN.',
    );
  }
  if (key !== undefined) throw new Failure('The URL is missing: set --url or USWARM_ADMIN_URL.');
  const local = await readAdminFile(resolve(args.dataDir ?? nonEmpty(env['USWARM_DATA_DIR']) ?? DEFAULT_DATA_DIR));
  return { url: local.url, key: parseKey(local.key), operator };
}

/** No option contains a token: other users of a machine can read its command lines. */
async function findToken(
  { keyFile, tokenCommand }: ConnectionArguments,
  env: Environment,
): Promise<string | undefined> {
  if (keyFile !== undefined && tokenCommand !== undefined) {
    throw new Failure('--key-file and --token-command exclude each other.');
  }
  if (keyFile !== undefined) return undefined;
  const text = tokenCommand === undefined ? nonEmpty(env['USWARM_TOKEN']?.trim()) : await runTokenCommand(tokenCommand);
  if (text !== undefined && !isCanonicalToken(text)) throw new Failure('The token is not a JWT.');
  return text;
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
