import { fileURLToPath } from 'node:url';
import { type IntegrationCatalog, IntegrationCategory, IntegrationItem } from '@uswarm/contract';
import { AGENT_TOOLS, type AgentToolEntry } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { readOperatorFile } from '../../platform/core/operator-file.js';
import { asToolServer, isToolServer } from './provider-clients.js';

const BUILT_IN = new URL('../../../config/integrations.json', import.meta.url);

const Item = IntegrationItem.omit({ enabled: true, server: true });

/** The file has no `enabled` field because it depends on the user. */
const CatalogFile = z
  .strictObject({ categories: z.array(IntegrationCategory), items: z.array(Item) })
  .superRefine(({ items }, context) => {
    // A tool server brings its own item.
    for (const [index, { provider }] of items.entries()) {
      if (provider !== null && isToolServer(provider))
        context.addIssue({ code: 'custom', path: ['items', index, 'provider'], message: asToolServer(provider) });
    }
  })
  .refine(
    ({ items }) => items.every(({ type, provider }) => type === 'tool' || provider !== null),
    'an app has a provider',
  )
  .refine(({ items }) => {
    const providers = items.flatMap(({ provider }) => provider ?? []);
    return new Set(providers).size === providers.length;
  }, 'a provider is there twice')
  .refine(({ categories, items }) => {
    const known = new Set(categories.map(({ id }) => id));
    return items.every(({ category_id: id, type }) => (id === undefined ? type === 'app' : known.has(id)));
  }, 'an item has no category, or one that is not there');
export type CatalogFile = z.output<typeof CatalogFile>;

/** @throws ConfigError if the file is not a valid catalogue */
export function loadIntegrationCatalog(file?: string): CatalogFile {
  return readOperatorFile('INTEGRATION_CATALOG_FILE', file ?? fileURLToPath(BUILT_IN), CatalogFile);
}

/** Finds agent tool categories that are missing in the catalogue: clients could not show these tools in a category. */
export function missingToolCategories(
  { categories }: Pick<CatalogFile, 'categories'>,
  tools: readonly Pick<AgentToolEntry, 'category_id'>[],
): string[] {
  const needed = new Set(tools.map(({ category_id: id }) => id));
  return [...needed].filter((id) => categories.every((category) => category.id !== id));
}

/** Leaves out built-in tools that the operator has not turned on. */
export function withoutOtherTools({ categories, items }: CatalogFile, tools: readonly AgentToolEntry[]): CatalogFile {
  const off = AGENT_TOOLS.filter(
    ({ name, setting }) => setting !== undefined && tools.every((tool) => tool.name !== name),
  );
  const hidden = new Set(off.map(({ icon_url: icon }) => icon));
  return { categories, items: items.filter(({ type, icon_url: icon }) => type !== 'tool' || !hidden.has(icon)) };
}

/** Built-in tools are available to all users. */
export function catalogOf({ categories, items }: CatalogFile, connected: ReadonlySet<string>): IntegrationCatalog {
  const shown = items.map((item) => ({ ...item, enabled: item.provider === null || connected.has(item.provider) }));
  return { categories, items: shown };
}

/** Makes the image URLs absolute, so that clients can load them. */
export function withImages({ categories, items }: CatalogFile, assetUrl: (url: string) => string): CatalogFile {
  return {
    categories: categories.map((category) => ({ ...category, image_url: assetUrl(category.image_url) })),
    items: items.map((item) => ({ ...item, icon_url: assetUrl(item.icon_url) })),
  };
}
