import type { AgentRole, AgentTool, UpdateAgentToolBody } from '@uswarm/contract';
import type { Tool } from '../platform/core/catalog.js';

export interface ToolSetting {
  enabled: boolean;
  /** Null if the default applies. */
  permission: 'allow' | 'ask' | null;
}

/** By tool name. */
export type ToolSettings = Readonly<Record<string, ToolSetting>>;

export function toolOf(tool: Tool, setting: ToolSetting | undefined): AgentTool {
  const { name, description, icon_url, category_id, isForced = false } = tool;
  const enabled = isForced || (setting?.enabled ?? tool.enabled);
  const permission = enabled ? (setting?.permission ?? tool.permission) : 'deny';
  return { name, description, icon_url, category_id, enabled, permission };
}

/** `deny` disables the tool, and keeps its permission. */
export const toolSetting = ({ enabled, permission }: UpdateAgentToolBody): ToolSetting => ({
  enabled: enabled ?? permission !== 'deny',
  permission: permission === 'allow' || permission === 'ask' ? permission : null,
});

/** The catalogue's tools that an agent of this kind can have. */
export const toolsForKind = (catalog: readonly Tool[], kind: AgentRole): Tool[] =>
  catalog.filter(({ managerOnly = false }) => kind === 'manager' || !managerOnly);

/** Ignores settings for tools that are no longer in the catalogue. */
export const toolsOf = (
  catalog: readonly Tool[],
  { kind, toolSettings }: { kind: AgentRole; toolSettings: ToolSettings },
): AgentTool[] =>
  toolsForKind(catalog, kind).map((tool) =>
    toolOf(tool, Object.hasOwn(toolSettings, tool.name) ? toolSettings[tool.name] : undefined),
  );
