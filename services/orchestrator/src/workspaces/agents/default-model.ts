import { AgentModel } from '@uswarm/contract';
import { MODEL_PROVIDER_METADATA, type ModelProvider } from '@uswarm/contract/providers';
import type { OrchestratorConfig } from '../../config.js';
import type { ModelCatalog } from '../../platform/core/models.js';
import type { SwarmMember } from '../../records/agents.store.js';

/** The runtimes' default if neither the runtime nor the agent has a model setting. */
const FALLBACK_MODEL: AgentModel = 'sonnet';

type ModelSettings = [
  config: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'RUNTIME_DEFAULT_MODEL'>,
  environment: Record<string, string | undefined>,
];

/** A catalogue id or a provider's model name. */
export function userSwarmModel(...[config, environment]: ModelSettings): string {
  const name =
    config.RUNTIME_DRIVER === 'kubernetes' ? config.RUNTIME_DEFAULT_MODEL : environment['USWARM_DEFAULT_MODEL'];
  return name === undefined || name === '' ? FALLBACK_MODEL : name;
}

/**
 * True if runtimes have a name for the provider's `flash` model. In a cluster, only runtimes and the gateway know the
 * names; the chart requires a name for each model, or one for all.
 */
export function namesFlash(
  { RUNTIME_DRIVER: driver, MODEL_PROVIDER: provider }: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'MODEL_PROVIDER'>,
  environment: Record<string, string | undefined>,
): boolean {
  const connection = MODEL_PROVIDER_METADATA[provider as ModelProvider]?.connection;
  if (driver === 'kubernetes' || connection === undefined) return true;
  return Boolean(environment[connection.models.flash] || environment[connection.model]);
}

/**
 * Returns the model shown for an agent without a model setting. A manager's turns do not name a model, so its
 * UserSwarm's default applies. If that default is a provider's model name, it matches no catalogue id.
 */
export function createShownModel(
  models: Pick<ModelCatalog, 'subAgentModel'>,
  ...settings: ModelSettings
): (kind: SwarmMember['kind']) => AgentModel {
  const known = AgentModel.safeParse(userSwarmModel(...settings));
  const ofManager = known.success ? known.data : FALLBACK_MODEL;
  return (kind) => (kind === 'sub-agent' ? (models.subAgentModel ?? ofManager) : ofManager);
}
