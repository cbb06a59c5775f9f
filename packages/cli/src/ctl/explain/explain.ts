import { inCluster } from '../cluster.js';
import type { CtlCommand } from '../ctl-arguments.js';
import { collectFindings } from './collect.js';
import { createReport } from './create-report.js';
import type { Report } from './report.js';
import { showReport } from './show-report.js';

/** Explains a runtime's state. Reads only Kubernetes, so it works while the orchestrator is down. @throws Failure */
export async function explain(
  command: Extract<CtlCommand, { name: 'explain' }>,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<{ json: Report; text: string }> {
  const findings = await inCluster(command, environment, (client) =>
    collectFindings(client, command.swarm, command.namespace),
  );
  const report = createReport(findings, now);
  return { json: report, text: showReport(report) };
}
