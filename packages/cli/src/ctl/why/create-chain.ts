import type { Report } from '../explain/report.js';
import type { Chain, Link, LogLine } from './chain.js';
import { explainingLine } from './explaining-line.js';
import type { BrokenContainer } from './pod-state.js';
import { runbookOf } from './runbooks.js';

export interface ChainInput {
  /** Undefined if all containers are ready, or no pod exists. */
  broken: BrokenContainer | undefined;
  /** Absent: the container has no log. */
  log: LogLine | undefined;
  /** Prefix of runbook links. */
  runbooks: string;
}

type Condition = Report['conditions'][number];
/** Conditions that narrow down why `Ready` is not True. */
const CAUSES = ['Synced', 'ConfigValid', 'DependenciesReachable', 'RuntimeAvailable', 'UpToDate'];
/** Reasons that end without an action. */
const CALM = new Set(['Available', 'Suspended']);
/** The owner comes first: it reports that a pod could not be created, a pod why it does not start. */
const EVENT_ORDER = ['UserSwarm', 'Deployment', 'ReplicaSet', 'Pod'];

/** Orders what is known about a runtime from the state that a user notices to its cause. */
export function createChain(report: Report, { broken, log, runbooks }: ChainInput): Chain {
  const conditions = conditionLinks(report);
  const reason = report.reason ?? (report.phase === 'Pending' ? 'NotYetSynced' : null);
  const healthy = conditions.length === 0;
  const failing = conditions.some((link) => !CALM.has(link.reason ?? ''));
  const chain = failing
    ? withoutRepetition([...conditions, ...eventLinks(report), ...podLinks(report, broken), ...logLinks(broken, log)])
    : conditions;
  const runbook = failing ? [reason, ...conditions.map((link) => link.reason)].map(toRunbook).find(isKnown) : undefined;
  const [action = ''] = report.next;
  return {
    name: report.name,
    workspace_id: report.workspace_id,
    namespace: report.namespace,
    phase: report.phase,
    reason,
    since_s: report.conditions.find(({ type }) => type === 'Ready')?.age_s ?? report.age_s,
    healthy,
    chain,
    next: {
      action: healthy ? 'Nothing.' : action,
      runbook: runbook === undefined ? null : `${runbooks.replace(/\/$/, '')}/${runbook}.md`,
    },
    unreadable: [
      ...report.unreadable,
      ...unreadableLog(log).map((why) => ({ what: `Log of ${broken?.container ?? 'the pod'}`, why })),
    ],
  };
}

const unreadableLog = (log: LogLine | undefined): string[] =>
  log === undefined || log.unreadable === null ? [] : [log.unreadable];
const toRunbook = (reason: string | null): string | null => (reason === null ? null : runbookOf(reason));
const isKnown = (runbook: string | null): runbook is string => runbook !== null;

/** `Ready`, then the first condition that adds a reason. Without a status, that itself. */
function conditionLinks({ name, phase, conditions, sync, age_s }: Report): Link[] {
  const about = `UserSwarm ${name}`;
  if (phase === 'Pending') {
    const message =
      sync.framework === null
        ? 'It has no status: no controller was found.'
        : 'It has no status: no controller wrote it yet.';
    return [{ kind: 'condition', about, reason: 'NotYetSynced', message, age_s }];
  }
  const link = ({ type, status, reason, message, age_s: age }: Condition): Link => ({
    kind: 'condition',
    about: `${about}: ${type} is ${status}`,
    reason,
    message,
    age_s: age,
  });
  const ready = conditions.find(({ type }) => type === 'Ready');
  const first = ready === undefined || ready.status === 'True' ? undefined : ready;
  // Metacontroller leaves `Synced` unknown.
  const cause = CAUSES.map((wanted) => conditions.find(({ type }) => type === wanted)).find(
    (found) => found?.status === 'False' && found.reason !== first?.reason,
  );
  return [first, cause].filter((found) => found !== undefined).map(link);
}

/** The newest warning about each object. */
function eventLinks({ events, namespace }: Report): Link[] {
  const warnings = events.filter(({ type }) => type === 'Warning');
  return EVENT_ORDER.flatMap((kind) => {
    const newest = warnings.find(({ about }) => about.startsWith(`${kind} `));
    if (newest === undefined) return [];
    const { about, reason, message, count, age_s } = newest;
    const place = kind === 'UserSwarm' ? about : about.replace(' ', ` ${namespace}/`);
    return [{ kind: 'event', about: `${place}${count > 1 ? `, ${count} times` : ''}`, reason, message, age_s }];
  });
}

function podLinks({ pods, deployment, namespace }: Report, broken: BrokenContainer | undefined): Link[] {
  if (pods.length === 0) {
    if (deployment === null || deployment.wanted === 0) return [];
    const message = `0 of ${deployment.wanted} pods exist.${deployment.why === null ? '' : ` ${deployment.why}`}`;
    return [{ kind: 'pod', about: `Deployment in ${namespace}`, reason: 'NoPod', message, age_s: null }];
  }
  const pod =
    pods.find(({ name }) => name === broken?.pod.metadata.name) ?? pods.find(({ leaving }) => !leaving) ?? pods[0];
  if (pod === undefined) return [];
  const about = `Pod ${namespace}/${pod.name}${pod.node === null ? '' : ` on ${pod.node}`}`;
  const container = pod.containers.find(({ name }) => name === broken?.container);
  if (container === undefined) {
    return [{ kind: 'pod', about, reason: pod.phase.split(' ')[0] ?? pod.phase, message: pod.phase, age_s: pod.age_s }];
  }
  const [reason = container.state] = container.state.split(/[:,]/);
  const ended = container.last_end === null ? '' : `; last termination: ${container.last_end}`;
  const message = `${container.name}: ${container.state}, ${restarts(container.restarts)}${ended}`;
  return [{ kind: 'pod', about, reason, message, age_s: pod.age_s }];
}

const restarts = (count: number): string => (count === 1 ? '1 restart' : `${count} restarts`);

function logLinks(broken: BrokenContainer | undefined, log: LogLine | undefined): Link[] {
  if (broken === undefined) return [];
  // The kubelet keeps the end of the log in the pod's status, for readers who may not read logs.
  const read = log?.line ?? null;
  const stored = read === null ? broken.lastWords : null;
  const line = stored === null ? read : explainingLine(stored);
  if (line === null) return [];
  const run = log?.previous === true ? ', previous run' : '';
  const about =
    stored === null ? `Container ${broken.container}${run}` : `Container ${broken.container}, in the pod's status`;
  return [{ kind: 'log', about, reason: null, message: line, age_s: null }];
}

/** An Event often repeats the condition, and a pod's Event the container's state. The first occurrence stays. */
function withoutRepetition(links: readonly Link[]): Link[] {
  return links.filter(
    (link, place) =>
      link.kind !== 'event' ||
      !links.some(
        (other, at) => (at < place || other.kind === 'pod') && other !== link && other.message.includes(link.message),
      ),
  );
}
