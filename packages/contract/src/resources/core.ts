import { z } from 'zod';

export const Health = z
  .strictObject({
    online: z
      .boolean()
      .meta({ description: 'Whether the service can work: false while its database does not respond.' }),
    version: z.string().meta({ description: 'The release of the service, such as `0.3.0`.' }),
  })
  .meta({ id: 'Health', description: 'Whether the service works, and which release it is.' });
export type Health = z.output<typeof Health>;

export const ModelCapabilities = z
  .strictObject({
    tools: z.boolean().meta({ description: 'Calls tools.' }),
    parallel_tool_calls: z.boolean().meta({ description: 'Calls several tools in one step.' }),
    images: z.boolean().meta({ description: 'Sees attached pictures.' }),
    documents: z.boolean().meta({ description: 'Reads attached PDF files directly.' }),
    reasoning: z.boolean().meta({ description: 'Thinks before it answers, which uses more tokens.' }),
    caching: z.boolean().meta({ description: 'Charges less for a repeated beginning of a prompt.' }),
  })
  .meta({ id: 'ModelCapabilities', description: 'What a model can do.' });

const tokens = (description: string) => z.int().positive().optional().meta({ description, 'x-extension': true });

export const ModelCatalogItem = z
  .strictObject({
    id: z.string().meta({ description: 'The value for `model` in the settings of an agent, such as `flash`.' }),
    name: z.string().meta({ description: 'What users see in a list of models.' }),
    provider: z.string().meta({ description: 'The company or server that runs it, such as `anthropic`.' }),
    description: z.string().meta({ description: 'One sentence for users about when to choose it.' }),
    context_window: tokens('Maximum tokens of prompt and output together. Absent if unknown, like the fields below.'),
    max_output_tokens: tokens('Maximum tokens of the output of one model call.'),
    capabilities: ModelCapabilities.optional().meta({ description: 'What the model can do.', 'x-extension': true }),
  })
  .meta({ id: 'ModelCatalogItem', description: 'A model that agents can use.' });
export type ModelCatalogItem = z.output<typeof ModelCatalogItem>;

export const OpenApiBody = z
  .looseObject({ openapi: z.string().meta({ description: 'The version of the standard: 3.1.x.' }) })
  .meta({ id: 'OpenApiBody', description: 'An OpenAPI document with all its fields.' });
export type OpenApiBody = z.output<typeof OpenApiBody>;

export const AsyncApiBody = z
  .looseObject({ asyncapi: z.string().meta({ description: 'The version of the standard: 3.0.x.' }) })
  .meta({ id: 'AsyncApiBody', description: 'An AsyncAPI document with all its fields.' });
