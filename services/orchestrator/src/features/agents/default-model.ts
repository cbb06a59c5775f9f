import { AgentModel } from '@uswarm/contract';
import type { OrchestratorConfig } from '../../config.js';

/** What runtimes take where neither they nor the agent were told of another. */
const FALLBACK: AgentModel = 'sonnet';

/**
 * What an agent without a model of its own shows. Its turns name none, so that the default of its UserSwarm
 * applies; where that is a name of the provider's, no id of ours says it.
 */
export function defaultModel(
  config: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'RUNTIME_DEFAULT_MODEL'>,
  environment: Record<string, string | undefined>,
): AgentModel {
  const ofRuntimes =
    config.RUNTIME_DRIVER === 'kubernetes' ? config.RUNTIME_DEFAULT_MODEL : environment['USWARM_DEFAULT_MODEL'];
  const known = AgentModel.safeParse(ofRuntimes);
  return known.success ? known.data : FALLBACK;
}
