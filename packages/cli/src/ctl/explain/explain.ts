import { workspaceIdOf } from '@uswarm/contract/userswarm';
import { Failure } from '../../failure.js';
import type { AdminClient } from '../admin-client.js';
import { type ClusterOptions, inCluster } from '../cluster.js';
import type { CtlCommand } from '../ctl-arguments.js';
import { collectFindings } from './collect.js';
import { createReport } from './create-report.js';
import type { Findings } from './objects.js';
import type { Report } from './report.js';
import { showReport } from './show-report.js';

const FAILED_TURNS = 5;

/**
 * Explains a runtime's state. Reads Kubernetes, so it works while the orchestrator is down.
 *
 * @param admin also reads the last failed turns and their traces
 * @throws Failure
 */
export async function explain(
  command: Extract<CtlCommand, { name: 'explain' }> & ClusterOptions,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
  admin?: Pick<AdminClient, 'call'>,
): Promise<{ json: Report; text: string }> {
  const findings = await inCluster(command, environment, (client) =>
    collectFindings(client, command.swarm, command.namespace),
  );
  if (admin !== undefined) await addFailedTurns(findings, admin);
  const report = createReport(findings, now);
  return { json: report, text: showReport(report) };
}

async function addFailedTurns(findings: Findings, admin: Pick<AdminClient, 'call'>): Promise<void> {
  const workspaceId = workspaceIdOf(findings.swarm.metadata.name);
  try {
    const filter = { status: 'failed', workspace_id: workspaceId, older_than_s: 0, limit: FAILED_TURNS } as const;
    const { turns } = await admin.call('turns.list', filter);
    findings.failedTurns = turns.map(({ id, age_s, error_code: error, trace_id }) => ({ id, age_s, error, trace_id }));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    findings.unreadable.push({ what: 'Failed turns', why: error.message });
  }
}
