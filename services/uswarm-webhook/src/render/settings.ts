import type { Policy } from '../config/policy.js';
import type { RuntimePods } from '../config/runtime-pods.js';
import type { PassedOn } from '../config/stores.js';

/** What pods depend on besides the request; it holds no secret, so none can leak from it. */
export interface TemplateSettings {
  /** The image of all runtimes that name none themselves. */
  image: string;
  orchestratorEndpoint: string;
  mcpEndpoint: string;
  /** SPKI PEM. */
  callPublicKey: string;
  stores: readonly PassedOn[];
  pods: RuntimePods;
  policy: Policy;
}

export interface RenderSettings extends TemplateSettings {
  /** Of these very settings and this code. */
  platformRevision: string;
  /** Whether what runs waits for a go-ahead before it gets another template; needs a controller that gives them. */
  rolloutGate: boolean;
  /** Slugs of the model providers that `image` offers. */
  providers: ReadonlySet<string>;
}

/** As the background probe last saw it; `unset` when pods are given no database. */
export type DatabaseState = 'unset' | 'reachable' | 'unreachable';

/** What only holds for one request. */
export interface RenderFacts {
  database: DatabaseState;
  /** Only stamps conditions that flip. */
  now: Date;
}
