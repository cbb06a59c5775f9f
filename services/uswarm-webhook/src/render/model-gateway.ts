import { MODEL_ACCESS, type UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { ModelGateway, TemplateSettings } from './settings.js';

/**
 * The gateway through which a runtime calls models. Undefined with a Secret: it can have a provider key, which the
 * runtime then uses. The orchestrator in release 0.2 names such a Secret in each UserSwarm.
 */
export const modelGatewayOf = (
  { config }: Pick<UserSwarmSpec, 'config'>,
  { modelGateway }: Pick<TemplateSettings, 'modelGateway'>,
): ModelGateway | undefined => (config.envSecretRef === undefined ? modelGateway : undefined);

/** Pod labels that NetworkPolicies select by. */
export const modelAccessLabels = (
  spec: Pick<UserSwarmSpec, 'config'>,
  settings: Pick<TemplateSettings, 'modelGateway'>,
): Record<string, string> =>
  modelGatewayOf(spec, settings) === undefined ? {} : { [MODEL_ACCESS.label]: MODEL_ACCESS.gateway };
