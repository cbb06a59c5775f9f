import type { Policy } from '../config/policy.js';
import type { RuntimePods } from '../config/runtime-pods.js';
import type { PassedOn } from '../config/stores.js';

export interface ModelGateway {
  /** Origin. */
  url: string;
  /** Provider slug for runtimes whose UserSwarm names none. */
  provider: string | undefined;
}

/** Rendering inputs besides the request. They contain no secrets. */
export interface TemplateSettings {
  /** The default image of runtimes. */
  image: string;
  orchestratorEndpoint: string;
  mcpEndpoint: string;
  /** Undefined if runtimes call providers with keys from a Secret. */
  modelGateway: ModelGateway | undefined;
  /** SPKI PEM. */
  callPublicKey: string;
  stores: readonly PassedOn[];
  pods: RuntimePods;
  policy: Policy;
}

export interface RenderSettings extends TemplateSettings {
  /** The platform revision of these settings and this code. */
  platformRevision: string;
  /** True if running runtimes wait for a rollout grant; requires a controller that gives grants. */
  rolloutGate: boolean;
  /** Slugs of the model providers in `image`. */
  providers: ReadonlySet<string>;
}

/** The background probe's last result; `unset` if runtimes have no database. */
export type DatabaseState = 'unset' | 'reachable' | 'unreachable';

/** Inputs that apply to one request only. */
export interface RenderFacts {
  database: DatabaseState;
  /** Used only for the transition times of conditions. */
  now: Date;
}
