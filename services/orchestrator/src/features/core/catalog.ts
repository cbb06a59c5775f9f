import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { AgentRole, AgentSkill, LegalDocumentName, type ModelCatalogItem } from '@uswarm/contract';
import { AGENT_TOOLS, type AgentToolEntry } from '@uswarm/contract/agent-tools';
import { z } from 'zod';

/** What comes with the service as files: default agents, plans, models, legal documents. */

const CONFIG = new URL('../../../config/', import.meta.url);

function readConfig<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> {
  return schema.parse(readJson(new URL(name, CONFIG)));
}

function readJson(url: URL): unknown {
  return JSON.parse(readFileSync(url, 'utf8'));
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

/** Those that come with the service, or those of another file. @throws where the file is not what it should be */
export function loadPlans(file?: string): Plan[] {
  const schema = z.array(Plan).min(1).refine(haveOwnCodes, 'two plans have the same code');
  return file === undefined ? readConfig('plans.json', schema) : schema.parse(readJson(pathToFileURL(file)));
}

function haveOwnCodes(plans: readonly { code: string }[]): boolean {
  return new Set(plans.map(({ code }) => code)).size === plans.length;
}

export type Tool = AgentToolEntry;

/** The tool catalogue. `assetUrl` makes the URLs of icons absolute. */
export function loadTools(assetUrl = (url: string): string => url): Tool[] {
  return AGENT_TOOLS.map((tool) => ({ ...tool, icon_url: assetUrl(tool.icon_url) }));
}

const Model = z.object({ id: z.string(), name: z.string(), description: z.string() });

/** The catalogue, each entry with the provider that is configured for it. */
export function loadModels(provider: string): ModelCatalogItem[] {
  return readConfig('models.json', z.array(Model).min(1)).map((model) => ({ ...model, provider }));
}

export interface LegalFile {
  document: LegalDocumentName;
  version: string;
  content: string;
}

/** The legal documents as files; their versions are configured separately. */
export function loadLegalDocuments(versions: Record<LegalDocumentName, string>, directory?: string): LegalFile[] {
  const base = directory === undefined ? new URL('legal/', CONFIG) : pathToFileURL(`${directory}/`);
  return LegalDocumentName.options.map((document) => ({
    document,
    version: versions[document],
    content: readFileSync(new URL(`${document}.md`, base), 'utf8'),
  }));
}
