import {
  type Condition,
  type RolloutGrant,
  rolloutGrantOf,
  ROLLOUT,
  type UserSwarmStatus,
} from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-client';
import type { RolloutPlan } from '../src/rollout/plan.js';

const START_MS = Date.parse('2030-01-01T00:00:00Z');

interface Runtime {
  /** Revision in the Deployment and the status. */
  revision: string;
  suspend: boolean;
  /** The Suspended condition, and its transition time. */
  suspended: boolean;
  suspendedSince: number;
  /** It was suspended for another reason than a rollout and has not been Ready since. */
  idleSuspended: boolean;
  /** It runs a turn. */
  busy: boolean;
  ready: boolean;
  reason: string;
  readySince: number;
  /** `pendingRevision` in the status. */
  pending: string | undefined;
  pendingSince: number | undefined;
  upToDateSince: number;
  annotations: Record<string, string>;
}

/** Simulates UserSwarms, the webhook, orchestrators and pods as far as a rollout observes them. Time is in milliseconds. */
export class RolloutSimulation {
  now = START_MS;
  /** The platform revision. */
  revision = 'r1';
  /** Revisions whose pods never become Ready. */
  readonly broken = new Set<string>();
  readonly runtimes = new Map<string, Runtime>();
  /** The runtimes whose turn was interrupted without a forced grant. */
  readonly interrupted: string[] = [];
  grants = 0;

  constructor(names: readonly string[] = []) {
    for (const name of names) this.add(name);
  }

  add(name: string): void {
    const runtime = {
      suspend: false,
      idleSuspended: false,
      busy: false,
      ready: true,
      reason: 'Available',
      annotations: {},
    };
    const since = this.now;
    this.runtimes.set(name, {
      ...runtime,
      revision: this.revision,
      suspended: false,
      suspendedSince: since,
      readySince: since,
      upToDateSince: since,
      pending: undefined,
      pendingSince: undefined,
    });
  }

  parents(): KubernetesObject[] {
    return [...this.runtimes].map(([name, runtime]) => ({
      apiVersion: 'uswarm.dev/v1alpha1',
      kind: 'UserSwarm',
      metadata: { name, uid: name, resourceVersion: '1', annotations: { ...runtime.annotations } },
      spec: { suspend: runtime.suspend },
      status: this.#status(runtime),
    }));
  }

  /** Applies a plan, as the controller does. */
  apply({ grants, unused }: Pick<RolloutPlan, 'grants' | 'unused'>): void {
    for (const { metadata } of unused) {
      const { annotations } = this.#get(metadata.name);
      for (const name of [ROLLOUT.revision, ROLLOUT.time, ROLLOUT.forced]) delete annotations[name];
    }
    for (const { parent, revision, forced } of grants) {
      const { annotations } = this.#get(parent.metadata.name);
      Object.assign(annotations, { [ROLLOUT.revision]: revision, [ROLLOUT.time]: new Date(this.now).toISOString() });
      if (forced) annotations[ROLLOUT.forced] = 'true';
      else delete annotations[ROLLOUT.forced];
      this.grants += 1;
      this.now += 1;
    }
  }

  /** One orchestrator reconcile for a runtime. */
  orchestrate(name: string): void {
    const runtime = this.#get(name);
    const { annotations, pending } = runtime;
    if (runtime.suspend) {
      if (pending !== undefined || annotations[ROLLOUT.wanted] === undefined) return;
      runtime.suspend = false;
      delete annotations[ROLLOUT.wanted];
      return;
    }
    if (pending === undefined || runtime.busy || !runtime.ready) delete annotations[ROLLOUT.wanted];
    else if (annotations[ROLLOUT.wanted] === pending && this.#rolloutGrant(runtime)?.revision === pending)
      runtime.suspend = true;
    else annotations[ROLLOUT.wanted] = pending;
  }

  /** One controller reconcile: hook call, children, status. */
  sync(name: string): void {
    const runtime = this.#get(name);
    if (runtime.suspend !== runtime.suspended)
      Object.assign(runtime, { suspended: runtime.suspend, suspendedSince: this.now });
    if (runtime.revision !== this.revision) {
      const rolloutGrant = this.#rolloutGrant(runtime);
      runtime.pending = this.revision;
      runtime.pendingSince ??= this.now;
      const forced = rolloutGrant?.forced === true && rolloutGrant.revision === this.revision;
      // This includes a resumed runtime without a pod.
      if (runtime.suspend || runtime.reason === 'Suspended' || forced || this.#fails(runtime)) {
        if (runtime.busy && !forced) this.interrupted.push(name);
        Object.assign(runtime, { revision: this.revision, busy: false, pending: undefined, pendingSince: undefined });
        this.#unready(runtime, runtime.suspend ? 'Suspended' : 'Starting');
        runtime.upToDateSince = this.now;
        return;
      }
    } else if (runtime.pendingSince !== undefined) {
      Object.assign(runtime, { pending: undefined, pendingSince: undefined, upToDateSince: this.now });
    }
    if (runtime.suspend) this.#unready(runtime, 'Suspended');
    else if (runtime.reason === 'Suspended') runtime.reason = 'Starting';
  }

  /** The kubelet starts the pod, or fails to. */
  start(name: string): void {
    const runtime = this.#get(name);
    if (runtime.reason !== 'Starting') return;
    if (this.broken.has(runtime.revision)) runtime.reason = 'ImagePullBackOff';
    else Object.assign(runtime, { ready: true, reason: 'Available', readySince: this.now, idleSuspended: false });
  }

  /** A user message, which resumes a suspended runtime. */
  message(name: string): void {
    const runtime = this.#get(name);
    if (runtime.suspend) {
      runtime.suspend = false;
      if (runtime.pending === undefined) delete runtime.annotations[ROLLOUT.wanted];
    } else if (runtime.ready) runtime.busy = true;
  }

  /** The orchestrator suspends an idle runtime. */
  suspendIdle(name: string): void {
    const { ready, busy } = this.#get(name);
    if (ready && !busy) this.suspendByOperator(name);
  }

  /** An operator suspends a runtime. */
  suspendByOperator(name: string): void {
    const runtime = this.#get(name);
    if (runtime.suspend) return;
    runtime.suspend = true;
    Object.assign(runtime, { idleSuspended: true, busy: false });
    delete runtime.annotations[ROLLOUT.wanted];
  }

  finishTurn(name: string): void {
    this.#get(name).busy = false;
  }

  /** The node is lost and the pod is rescheduled. */
  loseNode(name: string): void {
    const runtime = this.#get(name);
    if (!runtime.ready) return;
    this.#unready(runtime, 'Starting');
    runtime.busy = false;
  }

  pass(ms: number): void {
    this.now += ms;
  }

  /** A new platform revision that every status reports. */
  release(revision: string): void {
    this.revision = revision;
    for (const name of this.runtimes.keys()) this.sync(name);
  }

  /** One round of all components without any runtime use. */
  round(plan: () => RolloutPlan): void {
    const names = [...this.runtimes.keys()];
    for (const name of names) this.orchestrate(name);
    this.apply(plan());
    for (const name of names) this.sync(name);
    this.pass(1_000);
    for (const name of names) this.start(name);
  }

  notReady(): string[] {
    return [...this.runtimes].filter(([, { ready }]) => !ready).map(([name]) => name);
  }

  #get(name: string): Runtime {
    const runtime = this.runtimes.get(name);
    if (runtime === undefined) throw new Error(`no runtime ${name}`);
    return runtime;
  }

  #rolloutGrant = (runtime: Runtime): RolloutGrant | undefined => rolloutGrantOf(runtime, this.#status(runtime));

  #unready(runtime: Runtime, reason: string): void {
    if (runtime.ready) runtime.readySince = this.now;
    Object.assign(runtime, { ready: false, reason });
  }

  #fails = ({ ready, reason }: Runtime): boolean => !ready && reason !== 'Starting' && reason !== 'Suspended';

  #status(runtime: Runtime): UserSwarmStatus {
    const { pending, ready, reason, revision, suspended } = runtime;
    const condition = (type: Condition['type'], holds: boolean, since: number, why: string): Condition => ({
      type,
      status: holds ? 'True' : 'False',
      reason: why,
      message: '',
      lastTransitionTime: `${new Date(since).toISOString().slice(0, 19)}Z`,
    });
    const upToDate = condition('UpToDate', pending === undefined, runtime.pendingSince ?? runtime.upToDateSince, 'x');
    return {
      phase: suspended ? 'Suspended' : ready ? 'Ready' : 'Progressing',
      revision,
      ...(pending === undefined ? {} : { pendingRevision: pending }),
      conditions: [
        condition('Ready', ready, runtime.readySince, reason),
        condition('Suspended', suspended, runtime.suspendedSince, 'x'),
        upToDate,
      ],
    };
  }
}
