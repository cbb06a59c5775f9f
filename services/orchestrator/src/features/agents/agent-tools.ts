import type { AgentTool } from '@uswarm/contract';
import type { Tool } from '../core/catalog.js';

/** Tools that the user switched on or off, by tool name. */
export type ToolSwitches = Readonly<Record<string, boolean>>;

/** The tool catalogue of one agent. Ignores switches of tools that are no longer in the catalogue. */
export function toolsOf(catalog: readonly Tool[], switches: ToolSwitches): AgentTool[] {
  return catalog.map(({ name, description, icon_url, category_id, enabled }) => ({
    name,
    description,
    icon_url,
    category_id,
    enabled: Object.hasOwn(switches, name) ? switches[name] === true : enabled,
  }));
}
