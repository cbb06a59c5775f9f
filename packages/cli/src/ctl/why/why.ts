import { type Credentials, readPodLog } from '@uswarm/kube-client';
import { type ClusterOptions, inCluster, REQUEST_TIMEOUT_MS } from '../cluster.js';
import type { CtlCommand } from '../ctl-arguments.js';
import { collectFindings } from '../explain/collect.js';
import { createReport } from '../explain/create-report.js';
import { createChain } from './create-chain.js';
import type { Chain, LogLine } from './chain.js';
import { explainingLine } from './explaining-line.js';
import { type BrokenContainer, brokenContainer } from './pod-state.js';
import { showChain } from './show-chain.js';

/** A stack trace with its message fits. */
const TAIL_LINES = 200;

/**
 * Follows a runtime's state from its condition to Event, pod and log line. Reads only Kubernetes, so it works while the
 * orchestrator is down. @throws Failure
 */
export async function why(
  command: Extract<CtlCommand, { name: 'why' }> & ClusterOptions,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<{ json: Chain; text: string }> {
  const chain = await inCluster(command, environment, async (client, credentials) => {
    const findings = await collectFindings(client, command.swarm, command.namespace);
    const report = createReport(findings, now);
    const broken = brokenContainer(findings.pods);
    const log = broken?.hasLog === true ? await readLogLine(credentials, broken) : undefined;
    return createChain(report, { broken, log, runbooks: command.runbooks });
  });
  return { json: chain, text: showChain(chain) };
}

async function readLogLine(credentials: Credentials, { pod, container, previous }: BrokenContainer): Promise<LogLine> {
  const options = { container, tailLines: TAIL_LINES, timeoutMs: REQUEST_TIMEOUT_MS };
  const key = { name: pod.metadata.name, namespace: pod.metadata.namespace };
  const read = async (wanted: boolean): Promise<LogLine> => {
    const text = await readPodLog(credentials, key, { ...options, previous: wanted });
    return { previous: wanted, line: explainingLine(text), unreadable: null };
  };
  try {
    // The kubelet has removed the log of the previous run if the node is short of disk space.
    return await read(previous).catch((error: unknown) => {
      if (!previous) throw error;
      return read(false);
    });
  } catch (error) {
    return { previous, line: null, unreadable: error instanceof Error ? error.message : String(error) };
  }
}
