import {
  type Condition,
  CONTROLLER_MANAGER,
  exceeds,
  LABEL,
  ORCHESTRATOR_MANAGER,
  type UserSwarm,
  workspaceIdOf,
} from '@uswarm/contract/userswarm';
import type { ManagedFields } from '@uswarm/kube-client';
import { nextSteps } from './next-steps.js';
import type { ContainerState, Deployment, Findings, Pod, Quota, RecordedEvent } from './objects.js';
import type { PodReport, Report, Workload } from './report.js';

const EVENTS_SHOWN = 15;

const conditionOf = (swarm: UserSwarm, type: Condition['type']): Condition | undefined =>
  swarm.status?.conditions?.find((condition) => condition.type === type);

export function createReport(findings: Findings, now: Date): Report {
  const { swarm, pods, quotas } = findings;
  const { metadata, spec, status } = swarm;
  const ageOf = ages(now);
  const ready = conditionOf(swarm, 'Ready');
  const known = {
    name: metadata.name,
    workspace_id: workspaceIdOf(metadata.name),
    user_id: spec.userId,
    namespace: spec.placement.runtimeNamespace,
    age_s: ageOf(metadata.creationTimestamp),
    phase: status?.phase ?? 'Pending',
    reason: ready?.reason ?? null,
    message: ready?.message ?? null,
    image: status?.image ?? null,
    address: status?.address ?? null,
    outdated: status !== undefined && status.observedGeneration !== metadata.generation,
    suspended: suspension(swarm, ageOf),
    deletion: deletion(findings, ageOf),
    conditions: (status?.conditions ?? []).map(({ type, status: holds, reason, message, lastTransitionTime }) => ({
      type,
      status: holds,
      reason,
      message,
      age_s: ageOf(lastTransitionTime),
    })),
    sync: syncView(findings, ageOf),
    deployment: deploymentView(findings.deployment),
    pods: pods.map((pod) => podView(pod, ageOf)),
    exhausted: quotas.flatMap(exhausted),
    events: eventViews(findings.events, ageOf),
    failed_turns: findings.failedTurns ?? null,
    unreadable: findings.unreadable,
  };
  return { ...known, next: nextSteps(known) };
}

/** The API server stores `hard` as it was written, and `used` as a sum, so they can have different units. */
function exhausted({ metadata: { name }, status: { hard = {}, used = {} } = {} }: Quota): Report['exhausted'] {
  return Object.entries(hard).flatMap(([resource, limit]) => {
    const amount = used[resource];
    const isExhausted = amount !== undefined && !exceeds(limit, amount);
    return isExhausted ? [{ quota: name, resource, used: amount, hard: limit }] : [];
  });
}

type AgeOf = (time: string | null | undefined) => number | null;

const ages =
  (now: Date): AgeOf =>
  (time) => {
    const then = Date.parse(time ?? '');
    return Number.isNaN(then) ? null : Math.max(0, Math.round((now.getTime() - then) / 1_000));
  };

function suspension({ metadata, spec }: UserSwarm, ageOf: AgeOf): Report['suspended'] {
  if (!spec.suspend) return null;
  const owners = (metadata.managedFields ?? []).filter(
    ({ fieldsV1, subresource }) =>
      (subresource ?? '') === '' && Object.hasOwn((fieldsV1 as Fields | undefined)?.['f:spec'] ?? {}, 'f:suspend'),
  );
  const other = owners.find(({ manager }) => manager !== ORCHESTRATOR_MANAGER);
  const owner = other ?? owners[0];
  return { by: owner?.manager ?? 'unknown', hold: other !== undefined, age_s: ageOf(owner?.time) };
}
type Fields = Record<string, object>;

function deletion({ swarm, serviceAccount, service, deployment, pods }: Findings, ageOf: AgeOf): Report['deletion'] {
  const { deletionTimestamp, finalizers = [] } = swarm.metadata;
  if (deletionTimestamp === undefined) return null;
  const left = { Deployment: deployment, Service: service, ServiceAccount: serviceAccount };
  const children = Object.entries(left).flatMap(([kind, object]) =>
    object === undefined ? [] : [`${kind} ${object.metadata.name}${finalizersText(object.metadata.finalizers)}`],
  );
  return {
    age_s: ageOf(deletionTimestamp),
    finalizers,
    children: [
      ...children,
      ...pods.map(({ metadata }) => `Pod ${metadata.name}${finalizersText(metadata.finalizers)}`),
    ],
  };
}

const finalizersText = (finalizers: string[] = []): string =>
  finalizers.length === 0 ? '' : ` (finalizers: ${finalizers.join(', ')})`;

function syncView(findings: Findings, ageOf: AgeOf): Report['sync'] {
  const { swarm, serviceAccount, service, deployment, platform, composite, lease } = findings;
  const workload = (component: string): Workload | null => {
    const found = platform.find(({ metadata }) => metadata.labels?.[LABEL.component] === component);
    if (found === undefined) return null;
    const { spec, status } = found;
    const name = `${found.metadata.namespace}/${found.metadata.name}`;
    return { name, ready: status?.readyReplicas ?? 0, wanted: spec?.replicas ?? 1 };
  };
  const controller = workload('controller');
  const secondsSinceWrite = (fields: readonly ManagedFields[]): number | null => {
    const known = fields.map(({ time }) => ageOf(time)).filter((age) => age !== null);
    return known.length === 0 ? null : Math.min(...known);
  };
  const ofStatus = (swarm.metadata.managedFields ?? []).filter(({ subresource }) => subresource === 'status');
  const ofChildren = [serviceAccount, service, deployment]
    .flatMap((child) => child?.metadata.managedFields ?? [])
    .filter((by) => by.manager === CONTROLLER_MANAGER && by.subresource === undefined);
  const { holderIdentity = '', renewTime } = lease?.spec ?? {};
  return {
    children_written_s_ago: secondsSinceWrite(ofChildren),
    status_written_s_ago: secondsSinceWrite(ofStatus),
    framework: controller === null ? (composite === undefined ? null : 'metacontroller') : 'builtin',
    controller,
    webhook: workload('webhook'),
    leader: holderIdentity === '' ? null : { holder: holderIdentity, renewed_s_ago: ageOf(renewTime) },
  };
}

function deploymentView(deployment: Deployment | undefined): Report['deployment'] {
  if (deployment === undefined) return null;
  const { spec, status } = deployment;
  const failing = status?.conditions?.find(
    ({ type, status: holds }) =>
      (type === 'ReplicaFailure' && holds === 'True') || (type === 'Progressing' && holds === 'False'),
  );
  return {
    wanted: spec?.replicas ?? 1,
    ready: status?.readyReplicas ?? 0,
    updated: status?.updatedReplicas ?? 0,
    why: failing === undefined ? null : `${failing.reason}: ${failing.message}`,
  };
}

function podView({ metadata, spec, status }: Pod, ageOf: AgeOf): PodReport {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const unscheduled = scheduled?.status === 'False' ? ` (${scheduled.reason}: ${scheduled.message})` : '';
  return {
    name: metadata.name,
    phase: `${status?.phase ?? 'Unknown'}${unscheduled}`,
    node: spec?.nodeName ?? null,
    age_s: ageOf(metadata.creationTimestamp),
    leaving: metadata.deletionTimestamp !== undefined,
    containers: (status?.containerStatuses ?? []).map((container) => ({
      name: container.name,
      ready: container.ready ?? false,
      restarts: container.restartCount ?? 0,
      state: stateText(container.state),
      last_end:
        container.lastState?.terminated === undefined ? null : terminationText(container.lastState.terminated, ageOf),
    })),
  };
}

function stateText({ waiting, running, terminated }: ContainerState = {}): string {
  if (running !== undefined) return 'running';
  if (terminated !== undefined) return terminationText(terminated, () => null);
  const { reason = 'waiting', message } = waiting ?? {};
  return message === undefined ? reason : `${reason}: ${message}`;
}

function terminationText(
  { reason = 'ended', exitCode, finishedAt }: NonNullable<ContainerState['terminated']>,
  ageOf: AgeOf,
) {
  const age = ageOf(finishedAt);
  return `${reason}, exit code ${exitCode ?? 'unknown'}${age === null ? '' : `, ${age} s ago`}`;
}

function eventViews(events: readonly RecordedEvent[], ageOf: AgeOf): Report['events'] {
  return events
    .map(({ type = '', reason = '', message = '', count = 1, involvedObject, ...times }) => ({
      age_s: ageOf(times.lastTimestamp ?? times.eventTime ?? times.metadata.creationTimestamp),
      type,
      reason,
      about: `${involvedObject?.kind ?? ''} ${involvedObject?.name ?? ''}`.trim(),
      count,
      message,
    }))
    .toSorted((left, right) => (left.age_s ?? Infinity) - (right.age_s ?? Infinity))
    .slice(0, EVENTS_SHOWN);
}
