import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@uswarm/service-kit';
import { parseQuantity } from '../render/quantity.js';

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

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SECRET = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;
const PREFIX = /^[a-z0-9][^\s]*$/;
const QUANTITY = { test: (text: string): boolean => parseQuantity(text) !== undefined };

/**
 * Reads the lists, one entry per line. A missing file is an empty list.
 *
 * @throws ConfigError if an entry is malformed or no namespace is allowed
 */
export async function loadPolicy(directory: string): Promise<Policy> {
  const [runtimeNamespaces, imagePrefixes, sharedEnvSecrets, [cpu], [memory]] = await Promise.all([
    readList(directory, 'runtimeNamespaces', NAMESPACE),
    readList(directory, 'imagePrefixes', PREFIX),
    readList(directory, 'sharedEnvSecrets', SECRET),
    readList(directory, 'maxCpu', QUANTITY),
    readList(directory, 'maxMemory', QUANTITY),
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

async function readList(directory: string, name: string, entry: Pick<RegExp, 'test'>): Promise<string[]> {
  const text = await readFile(join(directory, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`the policy (POLICY_DIRECTORY) cannot be read: ${name}: ${error.code ?? 'error'}`);
  });
  const entries = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const wrong = entries.findIndex((line) => !entry.test(line));
  if (wrong !== -1) {
    throw new ConfigError(`the policy (POLICY_DIRECTORY) is malformed: entry ${wrong + 1} of ${name}`);
  }
  return entries;
}
