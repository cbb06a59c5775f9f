import type { AgentTool } from '@uswarm/contract';
import type { Tool } from '../core/catalog.js';

/** Switches set by the user, by tool name. */
export type ToolSwitches = Readonly<Record<string, boolean>>;

/** The catalogue as an agent has it. Tools that the catalogue no longer lists are omitted. Pure. */
export function toolsOf(catalog: readonly Tool[], switches: ToolSwitches): AgentTool[] {
  return catalog.map(({ name, description, icon_url, category_id, enabled }) => ({
    name,
    description,
    icon_url,
    category_id,
    enabled: Object.hasOwn(switches, name) ? switches[name] === true : enabled,
  }));
}
