import { adviceFor, CONTROLLER_MANAGER, REASON_ADVICE } from '@uswarm/contract/userswarm';
import { PLATFORM_DEPLOYMENTS } from './objects.js';
import type { Report } from './report.js';

/** Recommended actions, most urgent first: advice for the reason, then for the other findings. */
export function nextSteps(report: Omit<Report, 'next'>): string[] {
  const steps = [
    ...adviceForReasons(report),
    ...adviceForPlatform(report),
    ...adviceForDeletion(report),
    ...adviceForSuspension(report),
  ];
  if (report.outdated) steps.push('The status is outdated: the controller has not reconciled the latest spec.');
  for (const { quota, resource, used } of report.exhausted) {
    steps.push(`ResourceQuota ${quota} of namespace ${report.namespace} is exhausted: ${used} of ${resource}.`);
  }
  return steps.length === 0 ? [REASON_ADVICE.Available.advice] : [...new Set(steps)];
}

/** Advice for the reason of Ready, and for the reason of Synced if the last write failed. */
function adviceForReasons({ phase, reason, conditions }: Omit<Report, 'next'>): string[] {
  const synced = conditions.find(({ type }) => type === 'Synced');
  const reasons = [phase === 'Pending' ? 'NotYetSynced' : reason, synced?.status === 'False' ? synced.reason : null];
  return [...new Set(reasons)].flatMap((each) => {
    if (each === null || each === 'Available') return [];
    const known = adviceFor(each);
    if (known === undefined) return [`${each}: unknown to this version of uswarmctl; see the message.`];
    return [`${each}: ${known.cause} ${known.advice}`];
  });
}

function adviceForPlatform({ sync, unreadable }: Omit<Report, 'next'>): string[] {
  // An unreadable Deployment is not necessarily missing.
  if (unreadable.some(({ what }) => what === PLATFORM_DEPLOYMENTS)) return [];
  const steps: string[] = [];
  if (sync.framework === null)
    steps.push('No controller manages UserSwarms in this cluster. Check that uswarm is installed.');
  for (const workload of [sync.controller, sync.webhook]) {
    if (workload === null || workload.ready > 0) continue;
    steps.push(
      `Deployment ${workload.name} has no ready pod (${workload.wanted} desired). Check its pods and their logs.`,
    );
  }
  return steps;
}

function adviceForDeletion({ deletion }: Omit<Report, 'next'>): string[] {
  if (deletion === null) return [];
  const foreign = deletion.finalizers.filter((name) => !/^(uswarm\.dev|metacontroller\.io)\//.test(name));
  return [
    ...(deletion.children.length === 0 ? [] : [`The deletion waits for: ${deletion.children.join('; ')}.`]),
    ...(foreign.length === 0 ? [] : [`Finalizers of other controllers block the deletion: ${foreign.join(', ')}.`]),
  ];
}

function adviceForSuspension({ suspended }: Omit<Report, 'next'>): string[] {
  if (suspended === null) return [];
  return suspended.hold && suspended.by !== CONTROLLER_MANAGER
    ? [
        `Held: "${suspended.by}" set spec.suspend. The runtime stays suspended, and messages wait, until the field is released.`,
      ]
    : ['Suspended because it was idle. The next message resumes it.'];
}
