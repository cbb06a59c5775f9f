import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { LegalDocumentName } from '@uswarm/contract';
import { AGENT_TOOLS, type AgentToolEntry } from '@uswarm/contract/agent-tools';
import { z } from 'zod';

const CONFIG = new URL('../../../config/', import.meta.url);

/** Reads a file shipped with the service. @throws Error if it is invalid */
export function readConfig<Schema extends z.ZodType>(name: string, schema: Schema): z.output<Schema> {
  return schema.parse(readJson(new URL(name, CONFIG)));
}

/** Reads an operator's file. @throws Error if it is invalid */
export function readFile<Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> {
  return schema.parse(readJson(pathToFileURL(file)));
}

function readJson(url: URL): unknown {
  return JSON.parse(readFileSync(url, 'utf8'));
}

const Plan = z.object({
  code: z.string(),
  name: z.string(),
  token_limit: z.int().positive(),
  workspace_token_limit: z.int().positive(),
  /** A turn that exceeds this budget asks the user. */
  turn_token_limit: z.int().positive().optional(),
});
export type Plan = z.output<typeof Plan>;

/** Default: the plans shipped with the service. @throws Error if the file is invalid */
export function loadPlans(file?: string): Plan[] {
  const schema = z.array(Plan).min(1).refine(haveUniqueCodes, 'two plans have the same code');
  return file === undefined ? readConfig('plans.json', schema) : readFile(file, schema);
}

function haveUniqueCodes(plans: readonly { code: string }[]): boolean {
  return new Set(plans.map(({ code }) => code)).size === plans.length;
}

export type Tool = AgentToolEntry;

export interface ToolSettings {
  INTEGRATION_PROVIDERS: Partial<Record<string, unknown>>;
  CODE_RUNNER_ENABLED: boolean;
  SCHEDULES_ENABLED: boolean;
}

/**
 * Leaves out tools that the operator has not turned on, and tools for apps whose provider is not configured. `assetUrl`
 * makes icon URLs absolute.
 */
export function loadTools(settings: ToolSettings, assetUrl = (url: string): string => url): Tool[] {
  const { INTEGRATION_PROVIDERS: providers } = settings;
  const available = AGENT_TOOLS.filter(
    ({ provider, setting }) =>
      (provider === undefined || providers[provider] !== undefined) && (setting === undefined || settings[setting]),
  );
  return available.map((tool) => ({ ...tool, icon_url: assetUrl(tool.icon_url) }));
}

export interface LegalFile {
  document: LegalDocumentName;
  version: string;
  content: string;
}

/** The documents' versions are configured separately. */
export function loadLegalDocuments(versions: Record<LegalDocumentName, string>, directory?: string): LegalFile[] {
  const base = directory === undefined ? new URL('legal/', CONFIG) : pathToFileURL(`${directory}/`);
  return LegalDocumentName.options.map((document) => ({
    document,
    version: versions[document],
    content: readFileSync(new URL(`${document}.md`, base), 'utf8'),
  }));
}
