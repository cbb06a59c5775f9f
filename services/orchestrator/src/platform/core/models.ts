import { AgentModel, ModelCapabilities, type ModelCatalogItem } from '@uswarm/contract';
import { z } from 'zod';
import { readConfig, readFile } from './catalog.js';

/** Prices in micro US dollars per million tokens. */
const Prices = z.strictObject({
  input: z.int().nonnegative(),
  cached_input: z.int().nonnegative(),
  output: z.int().nonnegative(),
});

const Limits = z
  .strictObject({
    /** Prompt and output tokens together. */
    context_window: z.int().positive(),
    /** Maximum output tokens per model call. */
    max_output_tokens: z.int().positive(),
    capabilities: ModelCapabilities,
    prices: Prices,
  })
  .refine(
    (limits) => limits.max_output_tokens < limits.context_window,
    'the output limit must be below the context window',
  );
export type ModelLimits = z.output<typeof Limits>;

export interface ModelPrice {
  /** Null if the catalogue does not contain the model. */
  modelId: string | null;
  /** Null if the model has no price. */
  prices: z.output<typeof Prices> | null;
}

export const MODEL_IDS: readonly string[] = AgentModel.options;

const SUB_AGENT_MODEL: AgentModel = 'flash';

const Model = z.strictObject({
  id: AgentModel,
  name: z.string(),
  description: z.string(),
  /** By provider slug. A provider without an entry has unknown limits. */
  providers: z.record(z.string(), Limits).default({}),
});
type Model = z.output<typeof Model>;

const Models = z
  .array(Model)
  .min(1)
  .refine((models) => new Set(models.map(({ id }) => id)).size === models.length, 'two models have the same id');

export interface ModelCatalog {
  provider: string;
  items: ModelCatalogItem[];
  /** Used by sub-agents without a model setting; null: the default model, because the installation has no `flash`. */
  subAgentModel: AgentModel | null;
  /**
   * @param agentModel null: the default model
   * @returns undefined if the limits are unknown, for example for a provider's model name
   */
  limits(agentModel: string | null): ModelLimits | undefined;
  entry(modelId: string, provider: string): ModelLimits | undefined;
  /**
   * Returns the current price.
   *
   * @param model a catalogue id or a provider's model name; null: the default model
   */
  price(model: string | null, provider: string): ModelPrice;
}

export interface ModelCatalogOptions {
  provider: string;
  /** The UserSwarms' default: a catalogue id or a provider's model name. */
  defaultModel: string;
  /** True if runtimes have a name for `flash`, which is the default. */
  namesFlash?: boolean;
  /** Replaces the service's catalogue. */
  file?: string | undefined;
}

/** @throws Error if the file is invalid */
export function loadModelCatalog({
  provider,
  defaultModel,
  namesFlash = true,
  file,
}: ModelCatalogOptions): ModelCatalog {
  const models = file === undefined ? readConfig('models.json', Models) : readFile(file, Models);
  const entry: ModelCatalog['entry'] = (modelId, ofProvider) =>
    models.find(({ id }) => id === modelId)?.providers[ofProvider];
  // If an installation's default is a provider's model name, its models are not the catalogue's.
  const hasFlash = namesFlash && MODEL_IDS.includes(defaultModel) && entry(SUB_AGENT_MODEL, provider) !== undefined;
  return {
    provider,
    subAgentModel: hasFlash ? SUB_AGENT_MODEL : null,
    items: models.map((model) => catalogItem(model, provider)),
    limits: (agentModel) => entry(agentModel ?? defaultModel, provider),
    entry,
    price(model, ofProvider) {
      const id = model ?? defaultModel;
      const isKnown = models.some((known) => known.id === id);
      return { modelId: isKnown ? id : null, prices: entry(id, ofProvider)?.prices ?? null };
    },
  };
}

function catalogItem({ id, name, description, providers }: Model, provider: string): ModelCatalogItem {
  const limits = providers[provider];
  if (limits === undefined) return { id, name, provider, description };
  const { context_window, max_output_tokens, capabilities } = limits;
  return { id, name, provider, description, context_window, max_output_tokens, capabilities };
}
