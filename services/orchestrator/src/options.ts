import type { EventBus } from '@uswarm/event-bus';
import type { Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from './config.js';
import type { AuthenticatorDeps } from './features/auth/authenticator.js';
import type { Handlers } from './http/handlers.js';

/** What the orchestrator is given by whoever starts it. */
export interface OrchestratorOptions {
  config: OrchestratorConfig;
  bus: EventBus;
  logger: Logger;
  metrics: Registry;
  version: string;
  /** Where the settings of model providers are taken from. */
  environment: Record<string, string | undefined>;
  /** The end-to-end bypass; production has none. */
  bypass?: AuthenticatorDeps['bypass'];
  /**
   * No other orchestrator uses these runtimes: leftovers are stopped at the start, all of them at the
   * end. Otherwise runtimes outlive the orchestrator, and the next one adopts them.
   */
  ownsRuntimes?: boolean;
  /** Lets a test replace handlers. */
  changeHandlers?: (handlers: Handlers) => Handlers;
}
