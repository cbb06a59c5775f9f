import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DnsLabel, DnsSubdomain, parseQuantity } from '@uswarm/contract/userswarm';
import { ConfigError } from '@uswarm/service-kit';

/** The limits for UserSwarms from the ConfigMap `uswarm-policy`, which the admission policy also reads. */
export interface Policy {
  runtimeNamespaces: ReadonlySet<string>;
  /** Allowed image prefixes in addition to the configured image. */
  imagePrefixes: readonly string[];
  /** Secrets that any workspace may use for its environment, in addition to its own. */
  sharedEnvSecrets: ReadonlySet<string>;
  /** Maximum of `spec.runtime.resources`, for requests and limits; no entry means no maximum. */
  maxResources: Readonly<Partial<Record<LimitedResource, string>>>;
}

export type LimitedResource = 'cpu' | 'memory';

type IsValid = (entry: string) => boolean;

const isNamespace: IsValid = (entry) => DnsLabel.safeParse(entry).success;
const isSecretName: IsValid = (entry) => DnsSubdomain.safeParse(entry).success;
const isImagePrefix: IsValid = (entry) => /^[a-z0-9][^\s]*$/.test(entry);
const isQuantity: IsValid = (entry) => parseQuantity(entry) !== undefined;

/**
 * Reads the lists, one entry per line. A missing file is an empty list.
 *
 * @throws ConfigError if an entry is malformed or no namespace is allowed
 */
export async function loadPolicy(directory: string): Promise<Policy> {
  const [runtimeNamespaces, imagePrefixes, sharedEnvSecrets, [cpu], [memory]] = await Promise.all([
    readList(directory, 'runtimeNamespaces', isNamespace),
    readList(directory, 'imagePrefixes', isImagePrefix),
    readList(directory, 'sharedEnvSecrets', isSecretName),
    readList(directory, 'maxCpu', isQuantity),
    readList(directory, 'maxMemory', isQuantity),
  ]);
  if (runtimeNamespaces.length === 0) {
    throw new ConfigError('the policy (POLICY_DIRECTORY) allows no runtime namespace: runtimeNamespaces is empty');
  }
  return {
    runtimeNamespaces: new Set(runtimeNamespaces),
    imagePrefixes,
    sharedEnvSecrets: new Set(sharedEnvSecrets),
    maxResources: { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) },
  };
}

async function readList(directory: string, name: string, isValid: IsValid): Promise<string[]> {
  const text = await readFile(join(directory, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`the policy (POLICY_DIRECTORY) cannot be read: ${name}: ${error.code ?? 'error'}`);
  });
  const entries = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const wrong = entries.findIndex((line) => !isValid(line));
  if (wrong !== -1) {
    throw new ConfigError(`the policy (POLICY_DIRECTORY) is malformed: entry ${wrong + 1} of ${name}`);
  }
  return entries;
}
