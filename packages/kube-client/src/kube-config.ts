import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { ConfigError } from '@uswarm/service-kit';

/**
 * Loads the cluster from the files in `KUBECONFIG`, else the in-cluster configuration.
 *
 * @throws ConfigError if there is neither, or the files cannot be read
 */
export function loadKubeConfig(environment: Record<string, string | undefined>): KubeConfig {
  const [first, ...more] = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (first === undefined) return ownCluster(environment);
  try {
    const config = readFile(first);
    // As in kubectl, the first file determines the current context.
    for (const file of more) config.mergeConfig(readFile(file), true);
    return config;
  } catch (error) {
    throw new ConfigError(`KUBECONFIG cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Loads an operator's cluster as kubectl does: `KUBECONFIG`, else `~/.kube/config`, with the given context or the
 * current one.
 *
 * @throws ConfigError if there is none
 */
export function loadOperatorKubeConfig(
  environment: Record<string, string | undefined>,
  { context, home = homedir() }: { context?: string | undefined; home?: string } = {},
): KubeConfig {
  const own = join(home, '.kube', 'config');
  const isSet = (environment['KUBECONFIG'] ?? '') !== '';
  if (!isSet && !existsSync(own)) throw new ConfigError(`KUBECONFIG is not set and ${own} does not exist`);
  const config = loadKubeConfig(isSet ? environment : { KUBECONFIG: own });
  if (context === undefined) return config;
  if (config.getContextObject(context) === null) {
    throw new ConfigError(`context "${context}" does not exist in the kubeconfig`);
  }
  config.setCurrentContext(context);
  return config;
}

function readFile(file: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(file);
  return config;
}

function ownCluster(environment: Record<string, string | undefined>): KubeConfig {
  if (environment['KUBERNETES_SERVICE_HOST'] === undefined) {
    throw new ConfigError('No kubeconfig: set KUBECONFIG or run in-cluster.');
  }
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}
