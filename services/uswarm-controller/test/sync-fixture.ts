import { type SyncRequest, type SyncResponse, USERSWARMS } from '@uswarm/contract/userswarm';
import { createStore, KubeError, type KubernetesObject, type Store } from '@uswarm/kube-client';
import { createChildWriter } from '../src/apply/child-writer.js';
import { type NamespaceScope, ownerUid, type ScopeState } from '../src/caches/namespace-scope.js';
import { describeController } from '../src/sync/request.js';
import { emptyMemory, type SyncDeps, type SyncResult, syncUserSwarm } from '../src/sync/sync.js';
import { account, owned, userSwarm } from './userswarm-fixtures.js';

/** Reconciles the UserSwarm `workspace-a` with an in-memory API server and a scripted webhook. */
export interface SyncFixture {
  /** Webhook calls (`hook`) and API server calls, in order. */
  calls: string[];
  /** Requests to the webhook. */
  requests: SyncRequest[];
  /** Webhook response. */
  respond: (request: SyncRequest) => SyncResponse;
  /** Cache state for the runtime namespace `ns`. */
  scopeState: ScopeState;
  /** Errors for the next API call with this name. */
  failures: Record<string, KubeError>;
  parents: Store;
  accounts: Store;
  pods: Store;
  /** The Deployment in the API server, which the cache does not show. */
  deployment: KubernetesObject | undefined;
  /** Monotonic milliseconds. */
  elapsed: number;
  /** False if the start limiter does not admit the runtime. */
  mayStart: boolean;
  /** Keys that released their start slot. */
  forgotten: string[];
  /** Runs one reconcile. @param failures number of consecutive failures before */
  sync(failures?: number): Promise<SyncResult>;
  /** The stored UserSwarm. */
  live(): KubernetesObject;
  /** The stored status. */
  stored(): Record<string, unknown>;
  /** The stored condition `Synced`. */
  synced(): unknown;
}

const newer = (object: KubernetesObject, fields: object = {}): KubernetesObject => ({
  ...object,
  ...fields,
  metadata: { ...object.metadata, resourceVersion: `${Number(object.metadata.resourceVersion ?? 0) + 1}` },
});

export function createSyncFixture(): SyncFixture {
  const memory = emptyMemory();
  const fixture: SyncFixture = {
    calls: [],
    requests: [],
    respond: () => ({ status: { phase: 'Progressing' }, children: [account()] }),
    scopeState: 'ready',
    failures: {},
    parents: createStore(),
    accounts: createStore({ indexBy: ownerUid }),
    pods: createStore({ indexBy: ({ metadata }) => metadata.labels?.['app.kubernetes.io/instance'] }),
    deployment: undefined,
    elapsed: 0,
    mayStart: true,
    forgotten: [],
    sync: (failures = 0) =>
      syncUserSwarm(depsOf(fixture), 'workspace-a', { memory, failures, signal: new AbortController().signal }),
    live: () => fixture.parents.get('workspace-a') ?? userSwarm(),
    stored: () => (fixture.live()['status'] ?? {}) as Record<string, unknown>,
    synced: () =>
      (fixture.stored()['conditions'] as { type: string }[] | undefined)?.find(({ type }) => type === 'Synced'),
  };
  return fixture;
}

function depsOf(fixture: SyncFixture): SyncDeps {
  const scope = scopeOf(fixture);
  return {
    client: clientOf(fixture),
    writer: writerOf(fixture),
    starts: {
      admit: () => fixture.mayStart,
      forget: (key) => void fixture.forgotten.push(key),
    },
    hook: {
      call: async (request) => {
        fixture.requests.push(request);
        fixture.calls.push('hook');
        return fixture.respond(request);
      },
    },
    caches: {
      parents: fixture.parents,
      namespaces: createStore(),
      scope: (name) => (name === 'ns' ? scope : undefined),
    },
    resource: USERSWARMS,
    controller: describeController(USERSWARMS, 30),
    clock: { now: () => new Date('2030-01-01T00:00:00Z') },
    elapsed: () => fixture.elapsed,
    onChild: () => {},
    onStatus: () => {},
  };
}

/** Records a call. @throws KubeError if the test injected one */
function call({ calls, failures }: SyncFixture, name: string): void {
  const failure = failures[name];
  calls.push(name);
  delete failures[name];
  if (failure !== undefined) throw failure;
}

const clientOf = (fixture: SyncFixture): SyncDeps['client'] => ({
  delete: async ({ kind }) => {
    call(fixture, `delete ${kind}`);
    return undefined;
  },
  get: async ({ kind }) => {
    if (kind === 'Deployment') {
      call(fixture, 'get Deployment');
      if (fixture.deployment === undefined) throw new KubeError(404, { reason: 'NotFound' });
      return fixture.deployment;
    }
    call(fixture, 'get');
    return newer(newer(fixture.live()));
  },
  mergePatch: async (_resource, _name, patch) => {
    call(fixture, 'patch');
    const { finalizers } = (patch as { metadata: { finalizers: string[] } }).metadata;
    const object = fixture.live();
    return newer({ ...object, metadata: { ...object.metadata, finalizers } });
  },
  replace: async (_resource, object) => {
    call(fixture, 'status');
    return newer(fixture.live(), { status: object['status'] });
  },
});

const writerOf = (fixture: SyncFixture): SyncDeps['writer'] =>
  createChildWriter(
    {
      get: async () => owned('another'),
      create: async (_resource, object) => {
        call(fixture, 'create');
        return { ...object, metadata: { ...object.metadata, uid: 's1', resourceVersion: '8' } };
      },
      apply: async (_resource, object) => object,
      jsonPatch: async () => account(),
      delete: async () => {
        call(fixture, 'delete');
        return undefined;
      },
    },
    'test',
  );

const scopeOf = (fixture: SyncFixture): NamespaceScope => ({
  name: 'ns',
  children: {
    'ServiceAccount.v1': fixture.accounts,
    'Service.v1': createStore(),
    'Deployment.apps/v1': createStore(),
  },
  pods: fixture.pods,
  warnings: { of: () => [] },
  state: () => fixture.scopeState,
  alive: () => true,
  setPresence: () => {},
  stop: async () => {},
});
