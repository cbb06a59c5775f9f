import type { ModelLimits } from '@uswarm/runtime-proto';
import type { ContextLimits } from '../tokens/budget.js';

/** Limits that the operator set for all models; they take precedence. */
export interface ConfiguredLimits {
  contextWindow?: number | undefined;
  maxOutputTokens?: number | undefined;
}

/** For models that neither catalogue nor operator describe. The provider's refusal reveals a smaller window. */
const DEFAULT_WINDOW = 128_000;
const DEFAULT_OUTPUT = 4_096;
/** The output never takes a larger share of the window. */
const OUTPUT_SHARE = 0.25;

/** The limits of a turn's model, in tokens. */
export function contextLimits(catalogue: ModelLimits | undefined, configured: ConfiguredLimits): ContextLimits {
  const contextWindow = configured.contextWindow ?? (catalogue?.contextWindow || DEFAULT_WINDOW);
  const output = configured.maxOutputTokens ?? (catalogue?.maxOutputTokens || DEFAULT_OUTPUT);
  return { contextWindow, maxOutputTokens: Math.min(output, Math.floor(contextWindow * OUTPUT_SHARE)) };
}
