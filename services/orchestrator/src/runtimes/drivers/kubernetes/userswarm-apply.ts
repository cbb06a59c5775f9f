import { isDeepStrictEqual } from 'node:util';
import {
  LABEL,
  ORCHESTRATOR_MANAGER,
  ROLLOUT,
  UNREACHABLE_SINCE,
  type UserSwarmSpec,
  userSwarmName,
} from '@uswarm/contract/userswarm';
import { apiVersionOf, type ManagedFields, type Resource } from '@uswarm/kube-client';
import type { RuntimeSpec } from '../driver.js';
import { observe, type StoredUserSwarm } from './userswarm.js';

/** The orchestrator's name in `managedFields`. */
export const FIELD_MANAGER = ORCHESTRATOR_MANAGER;

export interface UserSwarmSettings {
  namespace: string;
  envSecret: string | undefined;
  defaultProvider: string | undefined;
  defaultModel: string | undefined;
}

/** A server-side apply object: exactly the fields that the orchestrator owns afterwards. */
export interface AppliedUserSwarm {
  apiVersion: string;
  kind: string;
  metadata: { name: string; uid?: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Pick<UserSwarmSpec, 'userId' | 'placement'> & Partial<Pick<UserSwarmSpec, 'config' | 'suspend'>>;
}

export interface Apply {
  object: AppliedUserSwarm;
  /** Overwrites fields that other managers own. Only used for `suspend`. */
  force: boolean;
}

/** @returns undefined if the stored object has all fields and the orchestrator owns them */
export function planApply(
  type: Resource,
  settings: UserSwarmSettings,
  desired: RuntimeSpec,
  stored: StoredUserSwarm | undefined,
): Apply | undefined {
  const suspend = desiredSuspend(desired, stored);
  const config =
    stored !== undefined && isActive(desired, stored) ? ownConfig(stored) : desiredConfig(settings, stored);
  const annotations = desiredAnnotations(desired, stored);
  const object: AppliedUserSwarm = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name: userSwarmName(desired.workspaceId),
      // Restricts the apply to this object: a new object with the same name must be reconciled first.
      ...(stored?.metadata.uid === undefined ? {} : { uid: stored.metadata.uid }),
      labels: { [LABEL.managedBy]: ORCHESTRATOR_MANAGER },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: {
      userId: desired.userId,
      // Immutable: a runtime stays in the namespace in which it was created.
      placement: { runtimeNamespace: stored?.spec.placement.runtimeNamespace ?? settings.namespace },
      ...(Object.keys(config).length === 0 ? {} : { config }),
      ...(suspend === undefined ? {} : { suspend }),
    },
  };
  if (stored !== undefined && isApplied(stored, object)) return undefined;
  return { object, force: suspend === true && stored?.spec.suspend === false && ownedByOthers(stored, SUSPEND) };
}

/** Undefined leaves the field to the operator who suspended the runtime. */
function desiredSuspend({ suspended }: RuntimeSpec, stored: StoredUserSwarm | undefined): boolean | undefined {
  const suspendedByOperator = stored?.spec.suspend === true && ownedByOthers(stored, SUSPEND);
  return suspendedByOperator && !suspended ? undefined : suspended;
}

function desiredAnnotations(desired: RuntimeSpec, stored: StoredUserSwarm | undefined): Record<string, string> {
  const rollout = desiredRollout(desired, stored);
  const since = desired.unreachableSince;
  const unreachable = since === undefined ? stored?.metadata.annotations?.[UNREACHABLE_SINCE] : since?.toISOString();
  return {
    ...(rollout === undefined ? {} : { [ROLLOUT.wanted]: rollout }),
    ...(unreachable === undefined ? {} : { [UNREACHABLE_SINCE]: unreachable }),
  };
}

/**
 * The request stays while the runtime is suspended for its rollout: it tells the controller that the runtime is resumed
 * immediately afterwards.
 */
function desiredRollout({ rollout, suspended }: RuntimeSpec, stored: StoredUserSwarm | undefined): string | undefined {
  const pending = stored?.status?.pendingRevision;
  if (rollout !== undefined) return rollout.requested ? pending : undefined;
  const before = stored?.metadata.annotations?.[ROLLOUT.wanted];
  return suspended || before === pending ? before : undefined;
}

/** The runtime starts, or lost its readiness briefly. Any other reason is why a start failed. */
const STARTING = 'Starting';

/** A config change replaces the pod, so an active runtime keeps its config until it stops. */
function isActive({ suspended }: RuntimeSpec, stored: StoredUserSwarm): boolean {
  const { phase, reason } = observe(stored);
  return !suspended && (phase === 'Ready' || reason === STARTING);
}

/** Config fields that the orchestrator applied and still owns. */
function ownConfig(stored: StoredUserSwarm): UserSwarmSpec['config'] {
  const owned = ownPaths(stored);
  const isOwn = (key: string): boolean => owned.some((path) => isWithin(path, `spec/config/${key}`));
  return Object.fromEntries(Object.entries(stored.spec.config ?? {}).filter(([key]) => isOwn(key)));
}

/** Leaves out fields that another manager set to a different value. */
function desiredConfig(settings: UserSwarmSettings, stored: StoredUserSwarm | undefined): UserSwarmSpec['config'] {
  const { envSecret, defaultProvider, defaultModel } = settings;
  const config: UserSwarmSpec['config'] = {
    ...(defaultProvider === undefined ? {} : { defaultProvider }),
    ...(defaultModel === undefined ? {} : { defaultModel }),
    ...(envSecret === undefined ? {} : { envSecretRef: { name: envSecret } }),
  };
  if (stored === undefined) return config;
  for (const key of Object.keys(config) as (keyof typeof config)[]) {
    const foreign = ownedByOthers(stored, ['spec', 'config', key]);
    if (foreign && !isDeepStrictEqual(stored.spec.config?.[key], config[key])) delete config[key];
  }
  return config;
}

const SUSPEND = ['spec', 'suspend'];
const isMain = ({ subresource }: ManagedFields): boolean => subresource === undefined || subresource === '';
const isOwnApply = (entry: ManagedFields): boolean =>
  entry.manager === FIELD_MANAGER && entry.operation === 'Apply' && isMain(entry);

/** True if another manager owns the field or a field below it. */
function ownedByOthers({ metadata }: StoredUserSwarm, path: readonly string[]): boolean {
  const field = path.join('/');
  return (metadata.managedFields ?? []).some(
    (entry) =>
      isMain(entry) && entry.manager !== FIELD_MANAGER && managedPaths(entry).some((owned) => isWithin(owned, field)),
  );
}

/** True if the stored object has all fields with their values, and the orchestrator owns exactly these fields. */
function isApplied(stored: StoredUserSwarm, { metadata, spec }: AppliedUserSwarm): boolean {
  const { labels, annotations = {} } = metadata;
  const marks = Object.keys(annotations).length === 0 ? {} : { annotations };
  const fields = leaves({ metadata: { labels, ...marks }, spec });
  const owned = ownPaths(stored);
  const paths = fields.map(([path]) => path.join('/'));
  return (
    fields.every(([path, value]) => isDeepStrictEqual(at(stored, path), value)) &&
    // Fields that are atomic in the schema are owned as a whole.
    paths.every((path) => owned.some((above) => isWithin(path, above))) &&
    owned.every((above) => paths.some((path) => isWithin(path, above)))
  );
}

/** The last apply's fields, except fields that other managers took over. */
function ownPaths({ metadata }: StoredUserSwarm): string[] {
  const entry = (metadata.managedFields ?? []).find(isOwnApply);
  return entry === undefined ? [] : managedPaths(entry);
}

/** Leaf field paths below an entry; a key `.` means its parent. */
function managedPaths({ fieldsV1 = {} }: ManagedFields): string[] {
  const paths = leaves(fieldsV1).map(([path]) =>
    path
      .filter((key) => key !== '.')
      .map((key) => key.replace(/^f:/, ''))
      .join('/'),
  );
  return paths.filter((path) => !paths.some((other) => other !== path && isWithin(other, path)));
}

const isWithin = (path: string, above: string): boolean => `${path}/`.startsWith(`${above}/`);

/** All values with their paths, except non-empty objects. */
function leaves(value: unknown, path: readonly string[] = []): [path: readonly string[], value: unknown][] {
  const fields = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (fields.length === 0) return [[path, value]];
  return fields.flatMap(([key, field]) => leaves(field, [...path, key]));
}

function at(value: unknown, path: readonly string[]): unknown {
  let here = value;
  for (const key of path) here = (here as Record<string, unknown> | undefined)?.[key];
  return here;
}
