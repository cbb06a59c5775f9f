import type { Policy } from '../config/policy.js';
import type { RuntimePods } from '../config/runtime-pods.js';
import type { PassedOn } from '../config/stores.js';

export interface ModelGateway {
  /** Origin. */
  url: string;
  /** Slug of the provider of runtimes whose UserSwarm names none. */
  provider: string | undefined;
}

/** The inputs of rendering besides the request. They contain no secrets. */
export interface TemplateSettings {
  /** The default image of runtimes. */
  image: string;
  orchestratorEndpoint: string;
  mcpEndpoint: string;
  /** Undefined if runtimes call providers with keys of a Secret. */
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
  /** Whether running runtimes wait for a rollout grant; requires a controller that gives grants. */
  rolloutGate: boolean;
  /** Slugs of the model providers of `image`. */
  providers: ReadonlySet<string>;
}

/** The last result of the background probe; `unset` if runtimes have no database. */
export type DatabaseState = 'unset' | 'reachable' | 'unreachable';

/** Inputs that apply to one request only. */
export interface RenderFacts {
  database: DatabaseState;
  /** Used only for the transition times of conditions. */
  now: Date;
}
