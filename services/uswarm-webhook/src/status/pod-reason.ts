import type { FailureReason } from '@uswarm/contract/userswarm';
import { RUNTIME_CONTAINER } from '../observed/runtime-container.js';
import { SIGABRT_EXIT, failedStartupProbe, terminationSummary } from './termination.js';
import { type ContainerStatus, type Pod, sinceOf } from '../observed/observed.js';

/** Why a runtime is not Ready. The message is stable for the same cause. */
export interface Cause {
  reason: FailureReason;
  message: string;
}

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);
const START_FAILURES: ReadonlySet<string> = new Set(['CrashLoopBackOff', 'RunContainerError', 'CreateContainerError']);
/** From the second restart on, a container counts as crash-looping, also between two back-offs. */
const RESTARTS_OF_A_LOOP = 2;

type FindCause = (pod: Pod, image: string) => Cause | undefined;

/** In order of precedence; the newest pod comes first. */
const CAUSES: readonly FindCause[] = [secretMissing, imagePull, outOfMemory, crashLoop, unschedulable];

/** The cause in the pods why the runtime does not start, if any. */
export const podCause = (pods: readonly Pod[], image: string): Cause | undefined => firstCause(CAUSES, pods, image);

/** The first cause that applies to any pod. */
export function firstCause(causes: readonly FindCause[], pods: readonly Pod[], image: string): Cause | undefined {
  for (const cause of causes) {
    for (const pod of pods) {
      const found = cause(pod, image);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const runtimeOf = (pod: Pod): ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find(({ name, ready }) => name === RUNTIME_CONTAINER && ready !== true);

function secretMissing(pod: Pod): Cause | undefined {
  const { reason, message = '' } = runtimeOf(pod)?.state?.waiting ?? {};
  if (reason !== 'CreateContainerConfigError') return undefined;
  const missing = /secret "(?<secret>[^"]+)" not found/i.exec(message)?.groups?.['secret'];
  if (missing !== undefined) return { reason: 'SecretMissing', message: `The Secret ${missing} does not exist.` };
  const { key, secret } = /couldn't find key (?<key>\S+) in Secret (?<secret>\S+)/i.exec(message)?.groups ?? {};
  if (secret === undefined) return undefined;
  return { reason: 'SecretMissing', message: `The Secret ${secret} has no key ${key}.` };
}

function imagePull(pod: Pod, image: string): Cause | undefined {
  const { reason = '', message = '' } = runtimeOf(pod)?.state?.waiting ?? {};
  if (!IMAGE_REASONS.has(reason)) return undefined;
  const why = pullFailure(reason, message);
  return { reason: 'ImagePullBackOff', message: `The image ${image} cannot be pulled${why === '' ? '' : `: ${why}`}.` };
}

/** The common part of the two messages that the kubelet alternates between for one failure. */
function pullFailure(reason: string, message: string): string {
  if (reason === 'InvalidImageName') return 'its name is malformed';
  if (reason === 'ErrImageNeverPull') return 'it is not on the node, and its pull policy is Never';
  if (/not found|manifest unknown|does not exist/i.test(message)) return 'it does not exist';
  if (/unauthorized|forbidden|denied|authentication|authorization/i.test(message)) return 'the registry denies access';
  if (/dial tcp|no such host|timeout|timed out|connection re|TLS|x509/i.test(message)) {
    return 'the registry is unreachable';
  }
  return '';
}

function outOfMemory(pod: Pod): Cause | undefined {
  const runtime = runtimeOf(pod);
  const ends = [runtime?.state?.terminated, runtime?.lastState?.terminated];
  if (ends.some((end) => end?.reason === 'OOMKilled')) {
    return { reason: 'OOMKilled', message: 'The runtime was killed: it used more memory than its limit.' };
  }
  return ends.some((end) => end?.exitCode === SIGABRT_EXIT)
    ? {
        reason: 'OOMKilled',
        message: `The runtime aborted with exit code ${SIGABRT_EXIT}, as Node.js does when its heap is full.`,
      }
    : undefined;
}

function crashLoop(pod: Pod): Cause | undefined {
  const { state, lastState, restartCount = 0 } = runtimeOf(pod) ?? {};
  const end = state?.terminated ?? lastState?.terminated;
  const neverAnswered = end !== undefined && failedStartupProbe(end, sinceOf(pod, 'Ready', 'False'));
  const loops =
    START_FAILURES.has(state?.waiting?.reason ?? '') ||
    neverAnswered ||
    (end !== undefined && restartCount >= RESTARTS_OF_A_LOOP);
  if (!loops) return undefined;
  if (neverAnswered)
    return {
      reason: 'CrashLoopBackOff',
      message: 'The runtime was stopped: it did not pass its startup probe in time.',
    };
  return { reason: 'CrashLoopBackOff', message: `The runtime ${terminationSummary(end ?? {})}.` };
}

function unschedulable(pod: Pod): Cause | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined;
  return { reason: 'Unschedulable', message: `The pod cannot be scheduled: ${scheduled.message ?? 'no reason given'}` };
}
