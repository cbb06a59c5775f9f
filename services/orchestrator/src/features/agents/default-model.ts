import { AgentModel } from '@uswarm/contract';
import type { OrchestratorConfig } from '../../config.js';

/** What runtimes take where neither they nor the agent were told of another. */
const FALLBACK: AgentModel = 'sonnet';

/**
 * Model shown for an agent without one. Its turns name none, so that the default of its UserSwarm
 * applies; if that is a provider's name, no catalogue id matches it.
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
