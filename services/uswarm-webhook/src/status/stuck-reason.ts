import type { SyncRequest } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import type { Pod } from '../observed/observed.js';
import type { Cause } from './pod-reason.js';

// Why a scheduled pod gets no sandbox. Only Events have the cause; their messages contain ids and change with each
// attempt, so the message is built from their common part.

const MOUNT: ReadonlySet<unknown> = new Set(['FailedMount', 'FailedAttachVolume', 'FailedMapVolume']);

const SANDBOX_CAUSES: readonly [pattern: RegExp, cause: string][] = [
  [
    /no (?:more |available )*ips?\b|assign an ip|ip address(?:es)? (?:available|exhaust)|insufficient.{0,20}\bips?\b/i,
    'the node has no pod IP left',
  ],
  [/not ready|not initialized|uninitialized/i, 'the network plugin is not ready'],
  [/runtime handler|no runtime for/i, 'the node does not have its runtime class'],
  [/\bcni\b|plugin type=|setup network/i, 'the network plugin fails'],
  [/timed? ?out|deadline ?exceeded/i, 'the container runtime does not answer in time'],
];

/** The cause from the newest pod's Events, if the controller sent any. */
export function stuckCause([pod]: readonly Pod[], { related }: SyncRequest): Cause | undefined {
  const events = Object.values(related['Event.v1'] ?? {}).filter(
    ({ involvedObject }) => (involvedObject as { uid?: string } | undefined)?.uid === pod?.metadata.uid,
  );
  const [newest] = events;
  if (pod === undefined || newest === undefined) return undefined;
  return MOUNT.has(newest['reason']) ? mountFailed(events) : sandboxFailed(textOf(newest));
}

const textOf = ({ message }: KubernetesObject): string => (typeof message === 'string' ? message : '');

/** One failure has two Events: one about the attempt, and one about the kubelet's timeout, which has no cause. */
function mountFailed(events: readonly KubernetesObject[]): Cause {
  const found = events.filter(({ reason }) => MOUNT.has(reason)).map((event) => readMount(textOf(event)));
  const best = found.find(({ cause }) => cause !== '') ?? found[0];
  const volume = best?.volume === undefined ? 'A volume' : `The volume ${best.volume}`;
  const suffix = best === undefined || best.cause === '' ? '' : `: ${best.cause}`;
  return { reason: 'MountFailed', message: `${volume} of the pod cannot be mounted${suffix}.` };
}

function readMount(text: string): { volume: string | undefined; cause: string } {
  const volume = /volume "(?<name>[^"]{1,253})"/.exec(text) ?? /unmounted volumes=\[(?<name>[^\s\]]{1,253})/.exec(text);
  return { volume: volume?.groups?.['name'], cause: mountCause(text) };
}

function mountCause(text: string): string {
  const { kind, name } = /(?<kind>secret|configmap) "(?<name>[^"]{1,253})" not found/i.exec(text)?.groups ?? {};
  if (kind !== undefined)
    return `the ${kind.toLowerCase() === 'secret' ? 'Secret' : 'ConfigMap'} ${name} does not exist`;
  if (/no space left|disk quota/i.test(text)) return 'the disk of the node is full';
  if (/permission denied|access denied/i.test(text)) return 'permission is denied';
  if (/driver name .* not found/i.test(text)) return 'the node does not have its CSI driver';
  if (/multi-attach/i.test(text)) return 'another node uses it';
  return '';
}

function sandboxFailed(text: string): Cause {
  const cause = SANDBOX_CAUSES.find(([pattern]) => pattern.test(text))?.[1];
  const message = `The node cannot set up the pod${cause === undefined ? '' : `: ${cause}`}.`;
  return { reason: 'SandboxFailed', message };
}
