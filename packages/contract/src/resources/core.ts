import { z } from 'zod';

export const Health = z.strictObject({ online: z.boolean(), version: z.string() }).meta({ id: 'Health' });
export type Health = z.output<typeof Health>;

/** What a model can do. */
export const ModelCapabilities = z
  .strictObject({
    tools: z.boolean(),
    parallel_tool_calls: z.boolean(),
    images: z.boolean(),
    documents: z.boolean(),
    reasoning: z.boolean(),
    caching: z.boolean(),
  })
  .meta({ id: 'ModelCapabilities' });

const tokens = (description: string) => z.int().positive().optional().meta({ description, 'x-extension': true });

export const ModelCatalogItem = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    provider: z.string(),
    description: z.string(),
    context_window: tokens('Maximum tokens of prompt and output together. Absent if unknown, like the fields below.'),
    max_output_tokens: tokens('Maximum tokens of the output of one model call.'),
    capabilities: ModelCapabilities.optional().meta({ description: 'What the model can do.', 'x-extension': true }),
  })
  .meta({ id: 'ModelCatalogItem' });
export type ModelCatalogItem = z.output<typeof ModelCatalogItem>;

/** A document in the format of its standard. */
export const OpenApiBody = z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiBody' });
export type OpenApiBody = z.output<typeof OpenApiBody>;

/** A document in the format of its standard. */
export const AsyncApiBody = z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApiBody' });
