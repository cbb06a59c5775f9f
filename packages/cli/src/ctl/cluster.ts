import {
  createCredentials,
  createKubeClient,
  type Credentials,
  type KubeClient,
  KubeError,
  loadOperatorKubeConfig,
} from '@uswarm/kube-client';
import { Failure } from '../failure.js';

export const REQUEST_TIMEOUT_MS = 10_000;

/** Options that select a cluster as with kubectl. */
export interface ClusterOptions {
  kubeconfig: string | undefined;
  context: string | undefined;
}

type Environment = Record<string, string | undefined>;

/** @throws Failure if the cluster is unknown, unreachable, or refuses a request that `use` does not handle */
export async function inCluster<Result>(
  { kubeconfig, context }: ClusterOptions,
  environment: Environment,
  use: (client: KubeClient, credentials: Credentials) => Promise<Result>,
): Promise<Result> {
  const env = kubeconfig === undefined ? environment : { ...environment, KUBECONFIG: kubeconfig };
  const credentials = await openCluster(env, context);
  try {
    const client = createKubeClient({ credentials, fieldManager: 'uswarmctl', timeoutMs: REQUEST_TIMEOUT_MS });
    return await use(client, credentials);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    if (cause instanceof KubeError) throw new Failure(`The API server refused: ${cause.message}.`, { cause });
    const { code, message } = cause as { code?: unknown; message?: unknown };
    throw new Failure(`The API server ${credentials.server} is unreachable (${String(code ?? message)}).`, { cause });
  } finally {
    await credentials.close();
  }
}

async function openCluster(environment: Environment, context: string | undefined) {
  try {
    return await createCredentials(loadOperatorKubeConfig(environment, { context }));
  } catch (cause) {
    const { message } = cause as Error;
    throw new Failure(`No cluster selected: ${message}. Set KUBECONFIG, --kubeconfig or --context.`, { cause });
  }
}
