import { createCredentials, createKubeClient, type Credentials, loadOperatorKubeConfig } from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import type { CtlCommand } from '../ctl-arguments.js';
import { collectFindings } from './collect.js';
import type { Findings } from './objects.js';
import { createReport } from './create-report.js';
import type { Report } from './report.js';
import { showReport } from './show-report.js';

const REQUEST_TIMEOUT_MS = 10_000;

/** Explains a runtime's state. Reads only Kubernetes, so it works while the orchestrator is down. @throws Failure */
export async function explain(
  { swarm, kubeconfig, context }: Extract<CtlCommand, { name: 'explain' }>,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<{ json: Report; text: string }> {
  const env = kubeconfig === undefined ? environment : { ...environment, KUBECONFIG: kubeconfig };
  const report = createReport(await read(await openCluster(env, context), swarm), now);
  return { json: report, text: showReport(report) };
}

async function read(credentials: Credentials, swarm: string): Promise<Findings> {
  try {
    return await collectFindings(
      createKubeClient({ credentials, fieldManager: 'uswarmctl', timeoutMs: REQUEST_TIMEOUT_MS }),
      swarm,
    );
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const { code, message } = cause as { code?: unknown; message?: unknown };
    throw new Failure(`The API server ${credentials.server} is unreachable (${String(code ?? message)}).`, { cause });
  } finally {
    await credentials.close();
  }
}

async function openCluster(environment: Record<string, string | undefined>, context: string | undefined) {
  try {
    return await createCredentials(loadOperatorKubeConfig(environment, { context }));
  } catch (cause) {
    const { message } = cause as Error;
    throw new Failure(`No cluster selected: ${message}. Set KUBECONFIG, --kubeconfig or --context.`, {
      cause,
    });
  }
}
