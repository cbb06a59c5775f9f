import { createCredentials, createKubeClient, type Credentials, loadOperatorKubeConfig } from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import type { Command } from '../arguments.js';
import { collectFindings } from './collect.js';
import type { Findings } from './objects.js';
import { makeReport } from './make-report.js';
import type { Report } from './report.js';
import { showReport } from './show-report.js';

const CALL_MS = 10_000;

/** Why a runtime is as it is, from Kubernetes alone: it works while the orchestrator does not. @throws Failure */
export async function explain(
  { swarm, kubeconfig, context }: Extract<Command, { name: 'explain' }>,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<{ json: Report; text: string }> {
  const env = kubeconfig === undefined ? environment : { ...environment, KUBECONFIG: kubeconfig };
  const report = makeReport(await read(await openCluster(env, context), swarm), now);
  return { json: report, text: showReport(report) };
}

async function read(credentials: Credentials, swarm: string): Promise<Findings> {
  try {
    return await collectFindings(
      createKubeClient({ credentials, fieldManager: 'uswarmctl', timeoutMs: CALL_MS }),
      swarm,
    );
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const { code, message } = cause as { code?: unknown; message?: unknown };
    throw new Failure(`The cluster at ${credentials.server} does not answer (${String(code ?? message)}).`, { cause });
  } finally {
    await credentials.close();
  }
}

async function openCluster(environment: Record<string, string | undefined>, context: string | undefined) {
  try {
    return await createCredentials(loadOperatorKubeConfig(environment, { context }));
  } catch (cause) {
    const { message } = cause as Error;
    throw new Failure(`No cluster to ask: ${message}. Name one by KUBECONFIG, --kubeconfig, --context.`, {
      cause,
    });
  }
}
