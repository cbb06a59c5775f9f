import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { ConfigError } from '@uswarm/service-kit';

/**
 * The cluster that the files in `KUBECONFIG` lead to, else the one that the process runs in.
 *
 * @throws ConfigError where there is neither, or the files cannot be read
 */
export function loadKubeConfig(environment: Record<string, string | undefined>): KubeConfig {
  const [first, ...more] = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (first === undefined) return ownCluster(environment);
  try {
    const config = readFile(first);
    // As kubectl does it: of the context, the first file decides.
    for (const file of more) config.mergeConfig(readFile(file), true);
    return config;
  } catch (error) {
    throw new ConfigError(`KUBECONFIG cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * The cluster of a person, as kubectl finds it: `KUBECONFIG`, else `~/.kube/config`; of it the context that is
 * named, else the current one.
 *
 * @throws ConfigError where there is none
 */
export function loadOperatorKubeConfig(
  environment: Record<string, string | undefined>,
  { context, home = homedir() }: { context?: string | undefined; home?: string } = {},
): KubeConfig {
  const own = join(home, '.kube', 'config');
  const isSet = (environment['KUBECONFIG'] ?? '') !== '';
  if (!isSet && !existsSync(own)) throw new ConfigError(`KUBECONFIG is not set, and there is no ${own}`);
  const config = loadKubeConfig(isSet ? environment : { KUBECONFIG: own });
  if (context === undefined) return config;
  if (config.getContextObject(context) === null) {
    throw new ConfigError(`there is no context "${context}" in the kubeconfig`);
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
    throw new ConfigError('KUBECONFIG is not set, and this is no pod: which cluster is meant?');
  }
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}
