import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { AgentRole, AgentSkill, type ModelCatalogItem } from '@uswarm/contract';
import { z } from 'zod';

/** What comes with the service as files: default agents, plans, models, legal documents. */

const CONFIG = new URL('../../../config/', import.meta.url);

function readConfig<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> {
  return schema.parse(JSON.parse(readFileSync(new URL(name, CONFIG), 'utf8')));
}

const AgentTemplate = z.object({
  slug: z.string().regex(/^[a-z][a-z0-9-]*$/),
  name: z.string(),
  role: z.string(),
  kind: AgentRole,
  description: z.string(),
  skills: z.array(AgentSkill),
});
export type AgentTemplate = z.output<typeof AgentTemplate>;

/** The agents of a new workspace; exactly one of them is the manager. */
export function loadAgentTemplates(): AgentTemplate[] {
  return readConfig(
    'agents.json',
    z.array(AgentTemplate).refine((agents) => agents.filter(({ kind }) => kind === 'manager').length === 1),
  );
}

const Plan = z.object({
  code: z.string(),
  name: z.string(),
  token_limit: z.int().positive(),
  workspace_token_limit: z.int().positive(),
});
export type Plan = z.output<typeof Plan>;

export function loadPlans(): Plan[] {
  return readConfig('plans.json', z.array(Plan).min(1));
}

const Model = z.object({ id: z.string(), name: z.string(), description: z.string() });

/** The catalogue, each entry naming the provider that stands behind it here. */
export function loadModels(provider: string): ModelCatalogItem[] {
  return readConfig('models.json', z.array(Model).min(1)).map((model) => ({ ...model, provider }));
}

export interface LegalDocuments {
  termsOfService: string;
  privacyPolicy: string;
  version: string;
}

export function loadLegalDocuments(version: string, directory?: string): LegalDocuments {
  const base = directory === undefined ? new URL('legal/', CONFIG) : pathToFileURL(`${directory}/`);
  const read = (name: string): string => readFileSync(new URL(name, base), 'utf8');
  return { termsOfService: read('terms_of_service.md'), privacyPolicy: read('privacy_policy.md'), version };
}
