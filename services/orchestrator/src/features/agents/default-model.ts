import { AgentModel } from '@uswarm/contract';
import type { OrchestratorConfig } from '../../config.js';

/** The default of runtimes if neither the runtime nor the agent has a model setting. */
const FALLBACK_MODEL: AgentModel = 'sonnet';

/** The default model of UserSwarms: an id of the catalogue or a provider's model name. */
export function userSwarmModel(
  config: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'RUNTIME_DEFAULT_MODEL'>,
  environment: Record<string, string | undefined>,
): string {
  const name =
    config.RUNTIME_DRIVER === 'kubernetes' ? config.RUNTIME_DEFAULT_MODEL : environment['USWARM_DEFAULT_MODEL'];
  return name === undefined || name === '' ? FALLBACK_MODEL : name;
}

/**
 * Model shown for an agent without a model setting. Its turns do not name a model, so the default of its UserSwarm
 * applies. If that default is a provider's model name, it matches no catalogue id.
 */
export function defaultModel(...settings: Parameters<typeof userSwarmModel>): AgentModel {
  const known = AgentModel.safeParse(userSwarmModel(...settings));
  return known.success ? known.data : FALLBACK_MODEL;
}
