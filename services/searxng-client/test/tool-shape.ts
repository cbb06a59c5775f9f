import type { ModelToolEntry } from '@uswarm/contract/agent-tools';

/** Names, types and defaults, which models need. Schemas for other clients have limits and longer descriptions, too. */
export const toolShape = ({ properties = {}, required = [] }: Partial<ModelToolEntry['inputSchema']>) => ({
  required,
  properties: Object.entries(properties).map(([name, schema]) => ({
    name,
    type: schema['type'],
    default: schema['default'],
  })),
});
