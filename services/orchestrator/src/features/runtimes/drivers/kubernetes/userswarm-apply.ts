import { isDeepStrictEqual } from 'node:util';
import {
  LABEL,
  type ManagedFields,
  ORCHESTRATOR_MANAGER,
  ROLLOUT,
  type UserSwarmSpec,
  userSwarmName,
} from '@uswarm/contract/userswarm';
import { apiVersionOf, type Resource } from '@uswarm/kube-client';
import type { RuntimeSpec } from '../driver.js';
import { observe, type StoredUserSwarm } from './userswarm.js';

/** What is to be written of a UserSwarm, and whether anything is: pure functions. */

/** How the orchestrator is in `managedFields`. */
export const FIELD_MANAGER = ORCHESTRATOR_MANAGER;

/** What every UserSwarm gets. */
export interface UserSwarmSettings {
  namespace: string;
  /** The Secret with the environment of runtimes; undefined is none. */
  envSecret: string | undefined;
  defaultProvider: string | undefined;
  defaultModel: string | undefined;
}

/** A server-side apply: the fields that we own from then on, and nothing else. */
export interface AppliedUserSwarm {
  apiVersion: string;
  kind: string;
  metadata: { name: string; uid?: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Pick<UserSwarmSpec, 'userId' | 'placement'> & Partial<Pick<UserSwarmSpec, 'config' | 'suspend'>>;
}

export interface Apply {
  object: AppliedUserSwarm;
  /** Takes fields that others set to another value; these can only be `suspend`. */
  force: boolean;
}

/** @returns undefined where nothing is to be written: everything is as it should be, and ours. */
export function planApply(
  type: Resource,
  settings: UserSwarmSettings,
  wanted: RuntimeSpec,
  stored: StoredUserSwarm | undefined,
): Apply | undefined {
  const suspend = wantedSuspend(wanted, stored);
  const config = stored !== undefined && worksOn(wanted, stored) ? ownConfig(stored) : wantedConfig(settings, stored);
  const rollout = wantedRollout(wanted, stored);
  const object: AppliedUserSwarm = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name: userSwarmName(wanted.workspaceId),
      // Only this very object: a new one of the same name is looked at first.
      ...(stored?.metadata.uid === undefined ? {} : { uid: stored.metadata.uid }),
      labels: { [LABEL.managedBy]: ORCHESTRATOR_MANAGER },
      ...(rollout === undefined ? {} : { annotations: { [ROLLOUT.wanted]: rollout } }),
    },
    spec: {
      userId: wanted.userId,
      // It cannot be changed: a runtime stays where it was made.
      placement: { runtimeNamespace: stored?.spec.placement.runtimeNamespace ?? settings.namespace },
      ...(Object.keys(config).length === 0 ? {} : { config }),
      ...(suspend === undefined ? {} : { suspend }),
    },
  };
  if (stored !== undefined && holdsAll(stored, object)) return undefined;
  return { object, force: suspend === true && stored?.spec.suspend === false && setByOthers(stored, SUSPEND) };
}

/** Undefined leaves it to whoever suspended the runtime. */
function wantedSuspend({ suspended }: RuntimeSpec, stored: StoredUserSwarm | undefined): boolean | undefined {
  const held = stored?.spec.suspend === true && setByOthers(stored, SUSPEND);
  return held && !suspended ? undefined : suspended;
}

/**
 * The revision that it may be stopped for. While it is stopped for one, it says so on: that is how
 * others know that it comes back at once.
 */
function wantedRollout({ rollout, suspended }: RuntimeSpec, stored: StoredUserSwarm | undefined): string | undefined {
  const pending = stored?.status?.pendingRevision;
  if (rollout !== undefined) return rollout.wanted ? pending : undefined;
  const before = stored?.metadata.annotations?.[ROLLOUT.wanted];
  return suspended || before === pending ? before : undefined;
}

/** The runtime is coming up, or has lost its readiness for a moment; any other reason says why it does not come up. */
const STARTING = 'Starting';

/** Another config is another pod: a runtime that works keeps what it has until it stops anyway. */
function worksOn({ suspended }: RuntimeSpec, stored: StoredUserSwarm): boolean {
  const { phase, reason } = observe(stored);
  return !suspended && (phase === 'Ready' || reason === STARTING);
}

/** What we wrote before, and nobody else changed. */
function ownConfig(stored: StoredUserSwarm): UserSwarmSpec['config'] {
  const owned = ownPaths(stored);
  const isOwn = (key: string): boolean => owned.some((path) => isWithin(path, `spec/config/${key}`));
  return Object.fromEntries(Object.entries(stored.spec.config ?? {}).filter(([key]) => isOwn(key)));
}

/** What somebody else set to another value stays theirs. */
function wantedConfig(settings: UserSwarmSettings, stored: StoredUserSwarm | undefined): UserSwarmSpec['config'] {
  const { envSecret, defaultProvider, defaultModel } = settings;
  const config: UserSwarmSpec['config'] = {
    ...(defaultProvider === undefined ? {} : { defaultProvider }),
    ...(defaultModel === undefined ? {} : { defaultModel }),
    ...(envSecret === undefined ? {} : { envSecretRef: { name: envSecret } }),
  };
  if (stored === undefined) return config;
  for (const key of Object.keys(config) as (keyof typeof config)[]) {
    const theirs = setByOthers(stored, ['spec', 'config', key]);
    if (theirs && !isDeepStrictEqual(stored.spec.config?.[key], config[key])) delete config[key];
  }
  return config;
}

const SUSPEND = ['spec', 'suspend'];
const isMain = ({ subresource }: ManagedFields): boolean => subresource === undefined || subresource === '';
const isOurApply = (entry: ManagedFields): boolean =>
  entry.manager === FIELD_MANAGER && entry.operation === 'Apply' && isMain(entry);

/** Whether anybody else set the field, or something below it. */
function setByOthers({ metadata }: StoredUserSwarm, path: readonly string[]): boolean {
  const field = path.join('/');
  return (metadata.managedFields ?? []).some(
    (entry) =>
      isMain(entry) && entry.manager !== FIELD_MANAGER && managedPaths(entry).some((owned) => isWithin(owned, field)),
  );
}

/** Whether it has every field of the object with its value, and we own these fields and no others. */
function holdsAll(stored: StoredUserSwarm, { metadata, spec }: AppliedUserSwarm): boolean {
  const { labels, annotations = {} } = metadata;
  const marks = Object.keys(annotations).length === 0 ? {} : { annotations };
  const fields = leaves({ metadata: { labels, ...marks }, spec });
  const owned = ownPaths(stored);
  const paths = fields.map(([path]) => path.join('/'));
  return (
    fields.every(([path, value]) => isDeepStrictEqual(at(stored, path), value)) &&
    // What the schema calls atomic is owned as a whole.
    paths.every((path) => owned.some((above) => isWithin(path, above))) &&
    owned.every((above) => paths.some((path) => isWithin(path, above)))
  );
}

/** The fields that our last apply named, but for those that others took. */
function ownPaths({ metadata }: StoredUserSwarm): string[] {
  const entry = (metadata.managedFields ?? []).find(isOurApply);
  return entry === undefined ? [] : managedPaths(entry);
}

/** The lowest fields that an entry names, as paths; a key `.` stands for its parent. */
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

/** Every value that is no object with something in it, with the way to it. */
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
