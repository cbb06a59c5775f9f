import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { parseJson, parseValkeyUrl } from '@uswarm/service-kit';
import { Failure } from '../../failure.js';

interface Input {
  label: string;
  /** The prompt asks for a file with the value. */
  isFile?: boolean;
  /** The answer may appear at the terminal. */
  isPublic?: boolean;
  /** @returns what is wrong, without the value */
  problem?: (text: string) => string | undefined;
}

const urlOf =
  (...protocols: string[]) =>
  (text: string): string | undefined =>
    protocols.includes(URL.parse(text)?.protocol ?? '') ? undefined : `must be a URL with ${protocols.join(' or ')}`;

const isPem =
  (what: string, read: (text: string) => unknown) =>
  (text: string): string | undefined => {
    try {
      read(text);
      return undefined;
    } catch {
      return `must be ${what} in PEM`;
    }
  };

const isObject = (text: string): string | undefined => {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? undefined : 'must be a JSON object';
};

const valkeyUrlProblem = (text: string): string | undefined => {
  try {
    parseValkeyUrl(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

/** Values that come from elsewhere, by the name of their variable without `USWARM_`. */
const INPUTS = {
  DATABASE_URL: { label: 'Postgres URL', problem: urlOf('postgres:', 'postgresql:') },
  REALTIME_REDIS_URL: { label: 'Valkey or Redis URL', problem: valkeyUrlProblem },
  FILES_ACCESS_KEY_ID: { label: 'access key id of the bucket for files', isPublic: true },
  FILES_SECRET_ACCESS_KEY: { label: 'secret access key of the bucket for files' },
  OPENAI_API_KEY: { label: 'API key of the model provider' },
  INTEGRATION_PROVIDERS: { label: 'OAuth clients of integrations', isFile: true, problem: isObject },
  TLS_CERTIFICATE: {
    label: 'TLS certificate',
    isFile: true,
    problem: isPem('a certificate', (text) => new X509Certificate(text)),
  },
  TLS_PRIVATE_KEY: { label: 'TLS private key', isFile: true, problem: isPem('a private key', createPrivateKey) },
  REGISTRY_SERVER: { label: 'image registry, such as registry.example.com', isPublic: true },
  REGISTRY_USERNAME: { label: 'user name at the image registry', isPublic: true },
  REGISTRY_PASSWORD: { label: 'password at the image registry' },
  RUNTIME_SPACES_KEY: { label: 'access key id of the bucket for runtimes', isPublic: true },
  RUNTIME_SPACES_SECRET: { label: 'secret access key of the bucket for runtimes' },
} satisfies Record<string, Input>;

export type InputName = keyof typeof INPUTS;
export type InputValues = Readonly<Record<InputName, string>>;

/** Asks the person at the terminal. @param hidden true if the answer must not appear */
export type Ask = (question: string, hidden: boolean) => Promise<string>;

const variableOf = (name: InputName): string => `USWARM_${name}`;

/** Reads a variable, or the file that `<variable>_FILE` names. One trailing newline is ignored. @throws Failure */
async function fromEnvironment(name: InputName, env: Record<string, string | undefined>): Promise<string | undefined> {
  const variable = variableOf(name);
  const [value, file] = [env[variable], env[`${variable}_FILE`]].map((text) => (text === '' ? undefined : text));
  if (value !== undefined && file !== undefined) throw new Failure(`${variable} and ${variable}_FILE are both set.`);
  return file === undefined ? value : readValue(file);
}

async function readValue(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read (${cause.code}).`, { cause });
  });
  return text.replace(/\r?\n$/, '');
}

async function asked(name: InputName, ask: Ask): Promise<string> {
  const { label, isFile = false, isPublic = isFile }: Input = INPUTS[name];
  const answer = await ask(isFile ? `file with ${label}: ` : `${label}: `, !isPublic);
  return isFile ? readValue(answer) : answer;
}

/**
 * Reads the values from the environment, and asks for the others.
 *
 * @param ask undefined without a terminal: then a missing value is an error
 * @throws Failure that names all missing variables, or one with a wrong value
 */
export async function readInputs(
  names: readonly InputName[],
  env: Record<string, string | undefined>,
  ask: Ask | undefined,
): Promise<InputValues> {
  const found = new Map<InputName, string>();
  const missing: InputName[] = [];
  for (const name of names) {
    const value = await fromEnvironment(name, env);
    if (value === undefined) missing.push(name);
    else found.set(name, requireValid(name, value));
  }
  if (missing.length > 0 && ask === undefined) {
    throw new Failure(
      `Not set: ${missing.map(variableOf).join(', ')}. Set each or <NAME>_FILE, or --skip the Secrets that need them.`,
    );
  }
  for (const name of missing) if (ask !== undefined) found.set(name, requireValid(name, await asked(name, ask)));
  return Object.fromEntries(found) as Record<InputName, string>;
}

function requireValid(name: InputName, value: string): string {
  const { problem = () => undefined }: Input = INPUTS[name];
  const found = value.trim() === '' ? 'is empty' : problem(value);
  if (found !== undefined) throw new Failure(`${variableOf(name)} ${found}.`);
  return value;
}
