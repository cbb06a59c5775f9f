import { adviceFor, CONTROLLER_MANAGER, REASON_ADVICE } from '@uswarm/contract/userswarm';
import type { Report } from './report.js';

/** What to do now, the most pressing first: advice by reason, and what the rest of the findings add to it. */
export function nextSteps(report: Omit<Report, 'next'>): string[] {
  const steps = [...byReason(report), ...ofPlatform(report), ...ofDeletion(report), ...ofHold(report)];
  if (report.outdated)
    steps.push('The status is about an older spec: the controller has not got to the latest change.');
  for (const { quota, resource, used } of report.exhausted) {
    steps.push(`ResourceQuota ${quota} of namespace ${report.namespace} is used up: ${used} of ${resource}.`);
  }
  return steps.length === 0 ? [REASON_ADVICE.Available.advice] : [...new Set(steps)];
}

/** By the reason that people see, and by the last write, where that failed for another. */
function byReason({ phase, reason, conditions }: Omit<Report, 'next'>): string[] {
  const synced = conditions.find(({ type }) => type === 'Synced');
  const reasons = [phase === 'Pending' ? 'NotYetSynced' : reason, synced?.status === 'False' ? synced.reason : null];
  return [...new Set(reasons)].flatMap((each) => {
    if (each === null || each === 'Available') return [];
    const known = adviceFor(each);
    if (known === undefined) return [`${each}: this version of uswarmctl does not know it; see the message.`];
    return [`${each}: ${known.cause} ${known.advice}`];
  });
}

function ofPlatform({ sync, unreadable }: Omit<Report, 'next'>): string[] {
  // What may not be looked at is not known to be missing.
  if (unreadable.some(({ what }) => what.startsWith("uswarm's own"))) return [];
  const steps: string[] = [];
  if (sync.framework === null) steps.push('No controller looks after UserSwarms in this cluster: is uswarm installed?');
  for (const workload of [sync.controller, sync.webhook]) {
    if (workload === null || workload.ready > 0) continue;
    steps.push(
      `Deployment ${workload.name} has no ready pod (${workload.wanted} wanted): look at its pods and their log.`,
    );
  }
  return steps;
}

function ofDeletion({ deletion }: Omit<Report, 'next'>): string[] {
  if (deletion === null) return [];
  const foreign = deletion.finalizers.filter((name) => !/^(uswarm\.dev|metacontroller\.io)\//.test(name));
  return [
    ...(deletion.children.length === 0 ? [] : [`It waits for: ${deletion.children.join('; ')}.`]),
    ...(foreign.length === 0 ? [] : [`Others hold it by their finalizers: ${foreign.join(', ')}.`]),
  ];
}

function ofHold({ suspended }: Omit<Report, 'next'>): string[] {
  if (suspended === null) return [];
  return suspended.hold && suspended.by !== CONTROLLER_MANAGER
    ? [`It is held: "${suspended.by}" set spec.suspend. It stays stopped, and messages wait, until they let go of it.`]
    : ['The orchestrator suspended it because it was idle; the next message wakes it.'];
}
